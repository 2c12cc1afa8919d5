package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The application: a group's only member, which reads one partition, polls, seeks and commits by franz-go's public calls.
// Of a member's calls none seeks to an edge of the log. An application that does it has no group: `direct`.

type consumer struct {
	direct  bool
	client  *kgo.Client
	cluster *cluster
	// What polls returned and no step has answered yet.
	returned []answer
	// Whether an application with a policy takes no notice of a loss, which the client tells all the same.
	hasPolicy bool
	losses    []*kgo.ErrDataLoss
	// Where the application has sought before it was assigned the partition.
	sought *kgo.Offset
	broken error
}

// newConsumer is a member of the group, or, where it is to begin at an edge, a client that is told its partition.
func newConsumer(configure configure, cluster *cluster, edge *kgo.Offset) (*consumer, error) {
	c := &consumer{cluster: cluster, direct: edge != nil, hasPolicy: configure.Reset != "none"}
	start, reset := kgo.NewOffset().AtCommitted(), kgo.NoResetOffset()
	switch configure.Reset {
	case "earliest":
		start, reset = kgo.NewOffset().AtStart(), kgo.NewOffset().AtStart()
	case "latest":
		start, reset = kgo.NewOffset().AtEnd(), kgo.NewOffset().AtEnd()
	}
	isolation := kgo.ReadUncommitted()
	if configure.ReadCommitted {
		isolation = kgo.ReadCommitted()
	}
	level := kgo.LogLevelNone
	if os.Getenv("FRANZ_GO_LOG") != "" {
		level = kgo.LogLevelDebug
	}
	host, port := address(coordinatorID)
	options := []kgo.Opt{
		kgo.SeedBrokers(fmt.Sprintf("%s:%d", host, port)),
		kgo.Dialer(cluster.dial),
		kgo.ConsumeStartOffset(start),
		kgo.ConsumeResetOffset(reset),
		kgo.FetchIsolationLevel(isolation),
		kgo.Rack("r"),
		// Without a session each fetch says all that it asks for.
		kgo.DisableFetchSessions(),
		kgo.DisableClientMetrics(),
		// A connection that ends is lost, and no sign that the broker wanted TLS.
		kgo.AlwaysRetryEOF(),
		// Time passes by the trace. What only a clock would bring about does not happen.
		kgo.MetadataMinAge(10 * time.Millisecond),
		kgo.MetadataMaxAge(time.Hour),
		kgo.RetryBackoffFn(func(int) time.Duration { return backoff }),
		kgo.RequestTimeoutOverhead(15 * time.Minute),
		kgo.ConnIdleTimeout(15 * time.Minute),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, level, nil)),
	}
	if edge != nil {
		options = append(options, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: *edge}}))
	} else {
		options = append(options,
			kgo.ConsumerGroup(group),
			kgo.ConsumeTopics(topic),
			kgo.Balancers(kgo.RangeBalancer()),
			kgo.DisableAutoCommit(),
			kgo.AdjustFetchOffsetsFn(c.adjust),
			kgo.SessionTimeout(10*time.Minute),
			kgo.HeartbeatInterval(5*time.Minute),
		)
	}
	client, err := kgo.NewClient(options...)
	c.client = client
	if err == nil {
		c.pause()
	}
	return c, err
}

var partition = map[string][]int32{topic: {0}}

// pause lets the client fetch no more, so that what an application sets between two polls is only remembered.
func (c *consumer) pause() { c.client.PauseFetchPartitions(partition) }

func (c *consumer) resume() { c.client.ResumeFetchPartitions(partition) }

// adjust is asked where to begin, once the partition is assigned.
func (c *consumer) adjust(_ context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	if c.sought != nil && offsets[topic] != nil {
		offsets[topic][0] = *c.sought
	}
	return offsets, nil
}

func (c *consumer) seek(to *position) {
	c.returned = nil
	sought := kgo.NewOffset().At(to.Offset)
	set := kgo.EpochOffset{Epoch: -1, Offset: to.Offset}
	if to.Epoch != nil {
		sought, set.Epoch = sought.WithEpoch(*to.Epoch), *to.Epoch
	}
	c.sought = &sought
	c.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: set}})
}

// edge is the offset that seeks to an edge of the log.
func edge(name string) kgo.Offset {
	if name == "beginning" {
		return kgo.NewOffset().AtStart()
	}
	return kgo.NewOffset().AtEnd()
}

// seekTo takes the partition back and gives it out anew, from an edge on: how a direct consumer goes there.
func (c *consumer) seekTo(to kgo.Offset) {
	c.returned = nil
	c.client.RemoveConsumePartitions(partition)
	c.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: to}})
}

// poll returns what the application is handed, or nothing.
func (c *consumer) poll() *answer {
	if len(c.returned) == 0 {
		c.returned = c.fetched(c.client.PollFetches(nil)) //nolint:staticcheck // nil: what is there, without a wait
	}
	if len(c.returned) == 0 {
		return nil
	}
	first := c.returned[0]
	c.returned = c.returned[1:]
	return &first
}

func (c *consumer) fetched(fetches kgo.Fetches) []answer {
	var found []answer
	var records []record
	fetches.EachRecord(func(r *kgo.Record) {
		read := record{Offset: r.Offset, Epoch: r.LeaderEpoch, ID: string(r.Value)}
		if r.Attrs.IsTransactional() {
			read.Producer = c.cluster.producerName(r.ProducerID)
		}
		records = append(records, read)
	})
	if len(records) > 0 {
		found = append(found, answer{Records: records})
	}
	fetches.EachError(func(_ string, _ int32, err error) {
		if loss, is := errors.AsType[*kgo.ErrDataLoss](err); is {
			c.losses = append(c.losses, loss)
			if c.hasPolicy {
				// To franz-go it is information: the client has gone on by itself.
				return
			}
		}
		if told := c.exception(err); told != nil {
			found = append(found, answer{Exception: told})
		} else if c.broken == nil {
			c.broken = fmt.Errorf("a poll returned an error that no trace has: %w", err)
		}
	})
	return found
}

// exception is an error that franz-go returns from a poll, as the exception of Kafka's consumer that says the same.
func (c *consumer) exception(err error) *exception {
	if loss, is := errors.AsType[*kgo.ErrDataLoss](err); is {
		told := &truncation{Offset: loss.ConsumedTo}
		// Where the position was chosen by the policy, the client does not know where the logs part.
		if c.cluster.lastAnswerWasOfEpochs() {
			told.Divergent = &epochEnd{Epoch: loss.ResetToEpoch, EndOffset: loss.ResetTo}
		}
		return &exception{LogTruncation: told}
	}
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange):
		return &exception{OffsetOutOfRange: &outOfRange{Offset: c.cluster.lastFetchOffset()}}
	case strings.Contains(err.Error(), "no prior committed offset"):
		// This error is not exported.
		return &exception{NoOffset: &struct{}{}}
	}
	return nil
}

// commit commits the application's position. The answer is what went to the coordinator; nothing where nothing did.
func (c *consumer) commit() (*answer, error) {
	if c.direct {
		return nil, skipped("without a group franz-go commits nothing")
	}
	before := c.cluster.commitCount()
	ctx, cancel := context.WithTimeout(context.Background(), backoff)
	defer cancel()
	if err := c.client.CommitUncommittedOffsets(ctx); err != nil {
		return nil, err
	}
	if c.cluster.commitCount() == before {
		return nil, nil
	}
	return &answer{Committed: c.cluster.committed}, nil
}

// position is the offset behind what the application was handed, or where it has sought or begun. franz-go has no call
// that tells it before.
func (c *consumer) position() (*answer, error) {
	for _, offsets := range []map[string]map[int32]kgo.EpochOffset{c.client.UncommittedOffsets(), c.client.CommittedOffsets()} {
		if at, known := offsets[topic][0]; known {
			return &answer{Position: &at.Offset}, nil
		}
	}
	return nil, skipped("franz-go tells no position before it has handed out a record")
}
