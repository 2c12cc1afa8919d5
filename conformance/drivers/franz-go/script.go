package main

// The logs of a trace's brokers, as far as the setup tells of them: in `read` the consumer reads from one of them, and
// that is the only thing they are for. In the steps brokers answer what the trace says.

type replica struct {
	leaderEpoch   int32
	alone         bool
	log           []record
	epochs        [][2]int64
	highWatermark int64
	topicID       uint16
	// The first offset of each producer's open transaction, and the transactions that were aborted.
	open    map[string]int64
	aborted []aborted
}

func newReplica() *replica {
	return &replica{leaderEpoch: -1, topicID: 1, open: make(map[string]int64)}
}

func (r *replica) end() int64 {
	if len(r.log) == 0 {
		return 0
	}
	return r.log[len(r.log)-1].Offset + 1
}

// do takes an operation of the setup that goes to a broker.
func (r *replica) do(op *operation, old bool) {
	switch {
	case op.Lead != nil:
		r.leaderEpoch, r.alone = op.Lead.LeaderEpoch, op.Lead.Alone
		r.mark()
	case op.Follow != nil:
		kept := r.log[:0]
		for _, record := range r.log {
			if record.Offset < op.Follow.TruncateTo {
				kept = append(kept, record)
			}
		}
		r.log = append(kept, op.Follow.Records...)
		r.leaderEpoch, r.alone = op.Follow.LeaderEpoch, false
		r.epochs, r.highWatermark = op.Follow.Epochs, op.Follow.HighWatermark
	case op.Append != nil:
		for _, id := range op.Append.Records {
			r.append(id, op.Append.Producer, old)
		}
	case op.EndTransaction != nil:
		producer, id := op.EndTransaction.Producer, "abort"
		if op.EndTransaction.Commit {
			id = "commit"
		} else if first, open := r.open[producer]; open {
			r.aborted = append(r.aborted, aborted{producer, first})
		}
		r.append(id, producer, old)
		delete(r.open, producer)
	case op.HighWatermark != nil:
		r.highWatermark = *op.HighWatermark
	case op.Recreate != nil:
		*r = *newReplica()
		r.topicID = op.Recreate.TopicID
	}
	if r.alone {
		r.highWatermark = r.end()
	}
}

func (r *replica) append(id, producer string, old bool) {
	epoch := r.leaderEpoch
	if old {
		epoch = -1
	}
	offset := r.end()
	if _, open := r.open[producer]; producer != "" && !open {
		r.open[producer] = offset
	}
	r.log = append(r.log, record{offset, epoch, id, producer})
}

// mark puts the epoch that begins into the epoch cache.
func (r *replica) mark() {
	if n := len(r.epochs); n == 0 || r.epochs[n-1][0] < int64(r.leaderEpoch) {
		r.epochs = append(r.epochs, [2]int64{int64(r.leaderEpoch), r.end()})
	}
}

// endOf answers where an epoch ends.
func (r *replica) endOf(asked int32) epochReply {
	if asked == r.leaderEpoch {
		return epochReply{Epoch: asked, EndOffset: r.end()}
	}
	found := epochReply{Epoch: -1, EndOffset: -1}
	for i, epoch := range r.epochs {
		if epoch[0] > int64(asked) {
			break
		}
		found = epochReply{Epoch: int32(epoch[0]), EndOffset: r.end()}
		if i+1 < len(r.epochs) {
			found.EndOffset = r.epochs[i+1][1]
		}
	}
	return found
}

// epochAt is the epoch in which the record at an offset was or will be written, as the epoch cache has it; -1 where it has none.
func (r *replica) epochAt(offset int64) int32 {
	epoch := int32(-1)
	for _, start := range r.epochs {
		if start[1] <= offset {
			epoch = int32(start[0])
		}
	}
	return epoch
}

// read answers a fetch of the setup, with what stands below both `upTo` and the high watermark.
func (r *replica) read(offset, upTo int64) fetchReply {
	reply := fetchReply{HighWatermark: r.highWatermark, Aborted: r.aborted}
	for _, record := range r.log {
		if record.Offset >= offset && record.Offset < min(upTo, r.highWatermark) {
			reply.Records = append(reply.Records, record)
		}
	}
	return reply
}
