package main

import (
	"fmt"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The steps of a trace, at the one place that is driven: the consumer. The setup goes to all places.

// Time passes in steps too, a little: the client waits ten milliseconds from one metadata request to the next, and
// refuses to be told to wait less. After an error it waits for `backoff`, or for a second; `elapse` outlasts both.
const (
	moment  = 11 * time.Millisecond
	moments = 3
	backoff = 900 * time.Millisecond
	waits   = 1500 * time.Millisecond
)

type driver struct {
	configure configure
	replicas  map[string]*replica
	cluster   *cluster
	consumer  *consumer // none before it is assigned anything
	starts    bool      // whether the consumer has not polled yet
	done      []*command
}

// attempts is how often a trace is begun anew before a step is given up.
const attempts = 50

func (d *driver) reset(configure configure) {
	d.close()
	d.done = nil
	d.configure = configure
	d.replicas = make(map[string]*replica)
	for _, name := range configure.Brokers {
		d.replicas[name] = newReplica()
	}
	d.cluster = newCluster(configure.Brokers)
	d.cluster.old, d.cluster.oldFormat = configure.OldBrokers, configure.OldMessageFormat
}

// close ends the client, and what it is connected to.
func (d *driver) close() {
	if d.consumer != nil {
		d.cluster.close()
		d.consumer.client.Close()
		d.cluster.close()
		d.cluster.unheard()
		d.consumer = nil
	}
}

// step does what the trace says. The client asks any broker for metadata, by chance one that has yet to answer something
// else. A broker answers in order, so that the trace would not come to the client. Then all is done anew, by another chance.
func (d *driver) step(next *command) line {
	done := append(d.done, next)
	said := d.try(next)
	for attempt := 0; d.cluster.isStuck(); attempt++ {
		if attempt == attempts {
			return line{Trace: next.Trace, At: next.At, Skipped: "metadata are asked of a broker that has yet to answer"}
		}
		d.reset(d.configure)
		// The client's chance is seeded by the time.
		time.Sleep(time.Nanosecond)
		for _, command := range done {
			if said = d.try(command); d.cluster.isStuck() {
				break
			}
		}
	}
	d.done = done
	return said
}

func (d *driver) try(command *command) line {
	said := line{Trace: command.Trace, At: command.At}
	fail := func(err error) line {
		if skipped, is := err.(skipped); is {
			said.Skipped = string(skipped)
		} else {
			said.Broken = err.Error()
		}
		return said
	}
	do := command.Do
	if do == nil {
		return fail(skipped("franz-go shows no state"))
	}
	if err := d.prepare(do); do.Do != nil || do.Read != nil {
		if err != nil {
			return fail(err)
		}
		said.OK = &outcome{}
		return said
	}
	answered, err := d.operate(&do.operation, command.Message)
	synctest.Wait()
	if err != nil {
		return fail(err)
	}
	said.OK = &outcome{Answer: answered}
	if do.polls() {
		said.OK.Sends = d.cluster.sent()
	}
	return said
}

// skipped is why the client can't do what the trace asks for.
type skipped string

func (s skipped) Error() string { return string(s) }

// polls says whether the application polls in the operation; in others it only sets or asks what the client remembers.
func (o *operation) polls() bool {
	return o.Poll != nil || o.Metadata != nil || o.Deliver != "" || o.Fail != "" || o.Elapse != nil
}

// prepare does an operation of the setup.
func (d *driver) prepare(do *doing) error {
	if do.Read != nil {
		return d.read(do.Read)
	}
	if do.Do == nil {
		return nil
	}
	for _, place := range do.At {
		if replica := d.replicas[place]; replica != nil {
			replica.do(do.Do, d.configure.OldMessageFormat)
			continue
		}
		if _, err := d.operate(do.Do, nil); err != nil {
			return err
		}
		synctest.Wait()
		if do.Do.polls() {
			// What was sent is lost, has failed, and was waited for. Before the partition is assigned there is no client.
			if d.consumer != nil {
				d.consumer.pause()
			}
			d.cluster.lose()
			d.pass(waits, false)
		}
	}
	return nil
}

// read lets the consumer read from a leader up to a position. Then nothing is in flight.
func (d *driver) read(read *reading) error {
	leader := d.replicas[read.From]
	if leader == nil || d.consumer == nil {
		return fmt.Errorf("nobody reads from %s", read.From)
	}
	d.cluster.mu.Lock()
	d.cluster.serving, d.cluster.servesTo = leader, read.UpTo
	d.cluster.mu.Unlock()
	d.hear(&metadata{Leader: &read.From, LeaderEpoch: &leader.leaderEpoch, TopicID: leader.topicID})
	d.consumer.resume()
	defer func() {
		d.cluster.mu.Lock()
		d.cluster.serving = nil
		d.cluster.mu.Unlock()
	}()
	for range 20 {
		d.pass(moments*moment, true)
		if d.cluster.unsaid() > 0 {
			d.consumer.pause()
			d.cluster.forget(d.cluster.unheard())
			d.pass(moments*moment, false)
			return nil
		}
	}
	return fmt.Errorf("the consumer does not come to %d at %s", read.UpTo, read.From)
}

// hear lets the client hear who leads.
func (d *driver) hear(heard *metadata) {
	if heard.TopicID == 0 {
		heard.TopicID = 1
	}
	if waited := d.cluster.hear(heard); !waited && d.consumer != nil {
		d.consumer.client.ForceMetadataRefresh()
	}
}

func (d *driver) operate(do *operation, message *delivery) (*answer, error) {
	switch {
	case do.Assign != nil:
		d.cluster.mu.Lock()
		d.cluster.committed = do.Assign.Committed
		d.cluster.mu.Unlock()
		d.close()
		// It is told of no topic, and so asks for nothing, before it polls.
		d.cluster.letTell(false)
		d.starts = true
		var err error
		d.consumer, err = newConsumer(d.configure, d.cluster, nil)
		return nil, err
	case do.Restart != nil:
		d.close()
		cluster := newCluster(d.configure.Brokers)
		cluster.old, cluster.oldFormat = d.cluster.old, d.cluster.oldFormat
		cluster.producers, cluster.named, cluster.count = d.cluster.producers, d.cluster.named, d.cluster.count
		d.cluster = cluster
		return nil, nil
	case d.consumer == nil && do.Metadata == nil:
		return nil, skipped("franz-go has no partition before it is assigned one")
	case do.Seek != nil:
		d.seek(func() { d.consumer.seek(do.Seek) })
		return nil, nil
	case do.SeekTo != "":
		return nil, d.seekTo(edge(do.SeekTo))
	case do.Commit != nil:
		return d.consumer.commit()
	case do.Position != nil:
		return d.consumer.position()
	case do.polls():
		return d.poll(do, message)
	default:
		return nil, skipped("franz-go has no such call")
	}
}

// seek lets the application seek. What the client asked before, and no poll has shown, it then no longer waits for.
func (d *driver) seek(seek func()) {
	before := d.cluster.unheard()
	d.consumer.pause()
	seek()
	synctest.Wait()
	d.cluster.forget(before)
}

// seekTo seeks to an edge of the log. A member of a group can't: the application goes on without one.
func (d *driver) seekTo(to kgo.Offset) (err error) {
	if d.consumer.direct {
		d.seek(func() { d.consumer.seekTo(to) })
	} else {
		d.close()
		d.consumer, err = newConsumer(d.configure, d.cluster, &to)
	}
	return err
}

// poll does what happens while the application polls.
func (d *driver) poll(do *operation, message *delivery) (*answer, error) {
	time := moments * moment
	if d.starts {
		d.cluster.letTell(true)
		d.starts = false
	}
	switch {
	case do.Metadata != nil:
		d.hear(do.Metadata)
		if d.consumer == nil {
			return nil, nil
		}
		// The client first hears it, so that it does not fetch where it would fetch no more.
		d.pass(time, false)
	case do.Deliver != "":
		if message == nil {
			return nil, fmt.Errorf("nothing is delivered")
		}
		if message.Content.saysThatMetadataIsOld() {
			d.cluster.letTell(false)
		}
		if err := d.cluster.deliver(message.ReplyTo, &message.Content); err != nil {
			return nil, err
		}
	case do.Fail != "":
		if message != nil {
			d.cluster.letTell(false)
			d.cluster.fail(message.Label)
		}
	case do.Elapse != nil:
		d.cluster.letTell(true)
		time = waits
	}
	d.consumer.resume()
	return d.pass(time, true), d.consumer.broken
}

// saysThatMetadataIsOld says whether the client is told that it knows too little of who leads. It then asks for metadata,
// and is not answered before the trace says what it hears.
func (m *message) saysThatMetadataIsOld() bool {
	var name string
	switch {
	case m.FetchReply != nil:
		name = m.FetchReply.Error
	case m.EpochReply != nil:
		name = m.EpochReply.Error
	case m.ListOffsetsReply != nil:
		name = m.ListOffsetsReply.Error
	}
	return name != "" && name != "OFFSET_OUT_OF_RANGE"
}

// pass lets time pass, at least that much, and the application poll in it until something is returned.
func (d *driver) pass(duration time.Duration, polling bool) *answer {
	var got *answer
	for passed := time.Duration(0); passed < duration; passed += moment {
		synctest.Wait()
		if polling && got == nil {
			if got = d.consumer.poll(); got != nil {
				// What the client does next has its time too.
				passed = min(passed, duration-moments*moment)
			}
		}
		time.Sleep(moment)
	}
	synctest.Wait()
	return got
}
