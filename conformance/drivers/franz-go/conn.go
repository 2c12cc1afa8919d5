package main

import (
	"encoding/binary"
	"io"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// One connection of the client to a broker: requests come in, and answers go out in their order, as Kafka has it.

type conn struct {
	nodeID int32
	pipe   net.Conn
	mu     sync.Mutex
	// The requests without an answer that was sent, in order.
	pending []*request
	wake    chan struct{}
	closed  chan struct{}
	once    sync.Once
}

type request struct {
	conn          *conn
	correlationID int32
	body          kmsg.Request
	response      []byte
}

func newConn(nodeID int32, pipe net.Conn) *conn {
	return &conn{nodeID: nodeID, pipe: pipe, wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (c *conn) close() {
	c.once.Do(func() {
		close(c.closed)
		c.pipe.Close()
	})
}

// receive reads requests until the connection ends.
func (c *conn) receive(arrived func(*request)) {
	defer c.close()
	for {
		var size [4]byte
		if _, err := io.ReadFull(c.pipe, size[:]); err != nil {
			return
		}
		text := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(c.pipe, text); err != nil {
			return
		}
		r, err := parse(text)
		if err != nil {
			return
		}
		r.conn = c
		c.mu.Lock()
		c.pending = append(c.pending, r)
		c.mu.Unlock()
		arrived(r)
	}
}

// parse reads a request: its header, and its body by the header's key and version.
func parse(text []byte) (*request, error) {
	b := kbin.Reader{Src: text}
	key, version, correlationID := b.Int16(), b.Int16(), b.Int32()
	b.NullableString() // the client's id
	if !b.Ok() {
		return nil, io.ErrUnexpectedEOF
	}
	body := kmsg.RequestForKey(key)
	if body == nil {
		return nil, io.ErrUnexpectedEOF
	}
	body.SetVersion(version)
	if body.IsFlexible() {
		kmsg.SkipTags(&b)
	}
	return &request{correlationID: correlationID, body: body}, body.ReadFrom(b.Src)
}

// answer gives the request its answer, which goes out when those before it have.
func (r *request) answer(response kmsg.Response) {
	response.SetVersion(r.body.GetVersion())
	text := make([]byte, 4, 64)
	text = kbin.AppendInt32(text, r.correlationID)
	// The answer about versions has the oldest header, so that any client can read it.
	if response.IsFlexible() && response.Key() != kmsg.ApiVersions.Int16() {
		text = append(text, 0)
	}
	text = response.AppendTo(text)
	binary.BigEndian.PutUint32(text, uint32(len(text)-4))
	r.conn.mu.Lock()
	if r.response == nil {
		r.response = text
	}
	r.conn.mu.Unlock()
	select {
	case r.conn.wake <- struct{}{}:
	default:
	}
}

// unanswered are the requests that wait for an answer.
func (c *conn) unanswered() []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*request
	for _, r := range c.pending {
		if r.response == nil {
			found = append(found, r)
		}
	}
	return found
}

// isStuck says whether an answer has to wait for an earlier one, or a question of the trace's for a metadata request.
func (c *conn) isStuck() bool {
	select {
	case <-c.closed:
		return false
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waits, waitsToHear := false, false
	for _, r := range c.pending {
		if waits && r.response != nil || waitsToHear {
			return true
		}
		if r.response == nil {
			waits = true
			_, waitsToHear = r.body.(*kmsg.MetadataRequest)
		}
	}
	return false
}

// send writes answers until the connection ends.
func (c *conn) send() {
	for {
		c.mu.Lock()
		var text []byte
		if len(c.pending) > 0 && c.pending[0].response != nil {
			text = c.pending[0].response
			c.pending = c.pending[1:]
		}
		c.mu.Unlock()
		if text != nil {
			if _, err := c.pipe.Write(text); err != nil {
				c.close()
				return
			}
			continue
		}
		select {
		case <-c.wake:
		case <-c.closed:
			return
		}
	}
}
