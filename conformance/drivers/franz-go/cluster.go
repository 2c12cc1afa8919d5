package main

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The brokers that the client talks to. A request which a trace names is kept until the trace answers it; all others
// (versions, metadata, the group) are answered here, at once where that is possible.

// coordinatorID is the node that coordinates the group. It is no broker of a trace.
const coordinatorID = 100

type cluster struct {
	mu    sync.Mutex
	conns []*conn
	// What the trace's brokers are called, in the order of their node ids, from 1.
	names     []string
	old       bool // brokers before KIP-320
	oldFormat bool // records of a format before 0.11
	producers producers

	committed *position // what the group has committed
	commits   []position

	known    *metadata // what the client has been told of the leader, but for what is older than that
	told     *metadata // what the next metadata request is answered with, if that is to be something else
	mayTell  bool      // whether metadata requests are answered, or wait
	serving  *replica  // in `read`: the leader that answers at once
	servesTo int64

	lastFetch  int64 // the offset of the fetch that was answered last
	lastEpochs bool  // whether the answer before the last fetch's was that of an epoch's end

	waiting []*request // those that the trace has not been told of yet
	named   map[string]*request
	count   int
}

func newCluster(names []string) *cluster {
	return &cluster{names: names, named: make(map[string]*request)}
}

func (c *cluster) nodeID(name string) int32 {
	for i, known := range c.names {
		if known == name {
			return int32(i) + 1
		}
	}
	return -1
}

func (c *cluster) name(nodeID int32) string {
	if nodeID < 1 || int(nodeID) > len(c.names) {
		return "?"
	}
	return c.names[nodeID-1]
}

// address is the host of a node. Nothing listens there: dial makes a pipe.
func address(nodeID int32) (host string, port int32) {
	return fmt.Sprintf("node%d", nodeID), 9092
}

func (c *cluster) dial(_ context.Context, _, host string) (net.Conn, error) {
	nodeID := int32(coordinatorID)
	for id := range int32(len(c.names) + 1) {
		if known, port := address(id); host == fmt.Sprintf("%s:%d", known, port) {
			nodeID = id
		}
	}
	client, server := net.Pipe()
	connection := newConn(nodeID, server)
	c.mu.Lock()
	c.conns = append(c.conns, connection)
	c.mu.Unlock()
	go connection.receive(c.arrived)
	go connection.send()
	return client, nil
}

// arrived takes a request of the client. The order of a connection's answers is that of its requests.
func (c *cluster) arrived(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch body := r.body.(type) {
	case *kmsg.FetchRequest, *kmsg.OffsetForLeaderEpochRequest, *kmsg.ListOffsetsRequest:
		if c.serving != nil && c.serve(r) {
			return
		}
		c.waiting = append(c.waiting, r)
	case *kmsg.MetadataRequest:
		if len(body.Topics) == 0 || c.mayTell {
			c.tell(r)
		}
	case *kmsg.ApiVersionsRequest:
		r.answer(c.apiVersions(body))
	default:
		// Should metadata be asked for before on this connection, that answer goes first.
		c.tellBefore(r)
		r.answer(c.coordinate(body))
	}
}

// tell answers a metadata request; where the client is to hear that there is no leader, once.
func (c *cluster) tell(r *request) {
	heard := c.known
	if c.told != nil {
		heard, c.told = c.told, nil
		if !c.isOlder(heard) {
			c.known = heard
		}
	}
	c.mayTell = c.known != nil && c.known.Leader != nil && heard == c.known
	r.answer(c.metadata(r.body.(*kmsg.MetadataRequest), heard))
}

func (c *cluster) isOlder(heard *metadata) bool {
	k := c.known
	return k != nil && k.TopicID == heard.TopicID && k.LeaderEpoch != nil && heard.LeaderEpoch != nil &&
		*heard.LeaderEpoch < *k.LeaderEpoch
}

func (c *cluster) tellBefore(later *request) {
	for _, r := range later.conn.unanswered() {
		if r == later {
			return
		}
		if body, is := r.body.(*kmsg.MetadataRequest); is {
			r.answer(c.metadata(body, c.known))
		}
	}
}

// letTell answers the metadata requests that wait, and those that come, or no more of them from now on.
func (c *cluster) letTell(may bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mayTell = may && (c.known != nil || c.told != nil)
	for _, r := range c.asking() {
		if c.mayTell {
			c.tell(r)
		}
	}
}

// asking are the metadata requests that wait for an answer.
func (c *cluster) asking() []*request {
	var found []*request
	for _, connection := range c.conns {
		for _, r := range connection.unanswered() {
			if _, is := r.body.(*kmsg.MetadataRequest); is {
				found = append(found, r)
			}
		}
	}
	return found
}

// isStuck says whether an answer waits behind one that the trace has yet to give.
func (c *cluster) isStuck() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, connection := range c.conns {
		if connection.isStuck() {
			return true
		}
	}
	return false
}

// hear makes the next metadata answer this one, and says whether a request already waited for it.
func (c *cluster) hear(heard *metadata) bool {
	c.mu.Lock()
	c.told = heard
	waits := len(c.asking()) > 0
	c.mu.Unlock()
	c.letTell(true)
	return waits
}

// sent names the requests that the trace has not been told of.
func (c *cluster) sent() map[string]message {
	c.mu.Lock()
	defer c.mu.Unlock()
	sends := make(map[string]message)
	for _, r := range c.waiting {
		c.count++
		name := fmt.Sprintf("q%d", c.count)
		c.named[name] = r
		sends[name] = c.message(r)
	}
	c.waiting = nil
	return sends
}

// unsaid says how many requests came that the trace has not been told of.
func (c *cluster) unsaid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// deliver answers the request of that name, and the ones before it on its connection, which the client has given up.
func (c *cluster) deliver(name string, content *message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.named[name]
	if r == nil {
		return fmt.Errorf("an answer to %q, which was never sent", name)
	}
	c.tellBefore(r)
	for _, before := range r.conn.unanswered() {
		if before == r {
			break
		}
		before.answer(c.refusal(before))
	}
	reply, err := c.reply(r, content)
	if err != nil {
		return err
	}
	switch sent := c.message(r); {
	case sent.Fetch != nil:
		c.lastFetch = sent.Fetch.Offset
	default:
		c.lastEpochs = sent.EpochRequest != nil
	}
	r.answer(reply)
	return nil
}

// fail cuts the connection of the request of that name.
func (c *cluster) fail(name string) {
	c.mu.Lock()
	r := c.named[name]
	c.mu.Unlock()
	if r != nil {
		r.conn.close()
	}
}

func (c *cluster) lastFetchOffset() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastFetch
}

func (c *cluster) lastAnswerWasOfEpochs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastEpochs
}

func (c *cluster) commitCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.commits)
}

func (c *cluster) producerName(id int64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.producers.name(id)
}

// unheard takes the requests that the trace was not told of.
func (c *cluster) unheard() []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.waiting
	c.waiting = nil
	return waiting
}

// forget answers requests that the client no longer waits for, so that their connections are free.
func (c *cluster) forget(requests []*request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range requests {
		r.answer(c.refusal(r))
	}
}

// lose cuts the connections of the requests that wait.
func (c *cluster) lose() {
	for _, r := range c.unheard() {
		r.conn.close()
	}
}

func (c *cluster) close() {
	c.mu.Lock()
	conns := c.conns
	c.conns = nil
	c.mu.Unlock()
	for _, connection := range conns {
		connection.close()
	}
}

// serve lets the leader of a setup's `read` answer; a fetch at the position where the reading ends waits.
func (c *cluster) serve(r *request) bool {
	sent := c.message(r)
	var content message
	switch {
	case sent.Fetch != nil && sent.Fetch.Offset >= c.servesTo:
		return false
	case sent.Fetch != nil:
		reply := c.serving.read(sent.Fetch.Offset, c.servesTo)
		if len(reply.Records) == 0 {
			return false
		}
		content.FetchReply = &reply
	case sent.EpochRequest != nil:
		reply := c.serving.endOf(sent.EpochRequest.Epoch)
		content.EpochReply = &reply
	case sent.ListOffsets != nil:
		reply := offsetReply{Epoch: -1}
		if sent.ListOffsets.Timestamp == "latest" {
			reply.Offset = c.serving.highWatermark
		}
		if !c.old && !c.oldFormat {
			reply.Epoch = c.serving.epochAt(reply.Offset)
		}
		content.ListOffsetsReply = &reply
	}
	reply, err := c.reply(r, &content)
	if err != nil {
		return false
	}
	r.answer(reply)
	return true
}
