package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What the client asks in the words of a trace, and what a trace answers in those of Kafka's protocol.

const topic = "t"

// The timestamps that ask for an edge of the log.
const (
	latest   = -1
	earliest = -2
)

// topicUUID is the topic's id: the number that a trace has, as a UUID.
func topicUUID(id uint16) [16]byte {
	return [16]byte{14: byte(id >> 8), 15: byte(id)}
}

// errorCode is the code of an error that has this name in Kafka.
func errorCode(name string) (int16, error) {
	switch name {
	case "":
		return 0, nil
	case "NOT_LEADER_OR_FOLLOWER": // its name since 2.6
		name = kerr.NotLeaderForPartition.Message
	}
	for code := int16(-1); code < 200; code++ {
		if known := kerr.TypedErrorForCode(code); known != nil && known.Message == name {
			return code, nil
		}
	}
	return 0, skipped("no release has an error " + name)
}

// message is the request as a trace writes it.
func (c *cluster) message(r *request) message {
	to := c.name(r.conn.nodeID)
	switch body := r.body.(type) {
	case *kmsg.FetchRequest:
		for _, t := range body.Topics {
			for _, p := range t.Partitions {
				sent := fetch{Offset: p.FetchOffset, CurrentLeaderEpoch: p.CurrentLeaderEpoch}
				if id := uint16(t.TopicID[14])<<8 | uint16(t.TopicID[15]); body.Version >= 13 && id != 1 {
					sent.TopicID = id
				}
				if p.LastFetchedEpoch != -1 {
					sent.LastEpoch = &p.LastFetchedEpoch
				}
				return message{To: to, Fetch: &sent}
			}
		}
	case *kmsg.OffsetForLeaderEpochRequest:
		for _, t := range body.Topics {
			for _, p := range t.Partitions {
				return message{To: to, EpochRequest: &epochRequest{p.LeaderEpoch, p.CurrentLeaderEpoch}}
			}
		}
	case *kmsg.ListOffsetsRequest:
		for _, t := range body.Topics {
			for _, p := range t.Partitions {
				sent := listOffsets{Timestamp: p.Timestamp, CurrentLeaderEpoch: p.CurrentLeaderEpoch}
				switch p.Timestamp {
				case earliest:
					sent.Timestamp = "earliest"
				case latest:
					sent.Timestamp = "latest"
				}
				return message{To: to, ListOffsets: &sent}
			}
		}
	}
	return message{To: to}
}

// reply is what the trace says, as an answer to the request.
func (c *cluster) reply(r *request, content *message) (kmsg.Response, error) {
	switch body := r.body.(type) {
	case *kmsg.FetchRequest:
		if said := content.FetchReply; said != nil {
			return c.fetchReply(body, said)
		}
	case *kmsg.OffsetForLeaderEpochRequest:
		if said := content.EpochReply; said != nil {
			return epochResponse(body, said)
		}
	case *kmsg.ListOffsetsRequest:
		if said := content.ListOffsetsReply; said != nil {
			return offsetResponse(body, said)
		}
	}
	return nil, fmt.Errorf("an answer to %s of another kind", kmsg.NameForKey(r.body.Key()))
}

// refusal is an answer that nobody waits for any more.
func (c *cluster) refusal(r *request) kmsg.Response {
	switch body := r.body.(type) {
	case *kmsg.FetchRequest:
		resp := body.ResponseKind().(*kmsg.FetchResponse)
		resp.Topics = fetchTopics(body, kmsg.NewFetchResponseTopicPartition())
		return resp
	default:
		return body.ResponseKind()
	}
}

func (c *cluster) fetchReply(req *kmsg.FetchRequest, said *fetchReply) (kmsg.Response, error) {
	code, err := errorCode(said.Error)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	p := kmsg.NewFetchResponseTopicPartition()
	p.ErrorCode = code
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = said.HighWatermark, said.HighWatermark, 0
	if code != 0 {
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
	}
	p.PreferredReadReplica = -1
	if said.PreferredReplica != "" {
		p.PreferredReadReplica = c.nodeID(said.PreferredReplica)
	}
	for _, a := range said.Aborted {
		transaction := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
		transaction.ProducerID, transaction.FirstOffset = c.producers.id(a.Producer), a.FirstOffset
		p.AbortedTransactions = append(p.AbortedTransactions, transaction)
	}
	p.RecordBatches = encode(said.Records, &c.producers, c.oldFormat)
	resp.Topics = fetchTopics(req, p)
	return resp, nil
}

func fetchTopics(req *kmsg.FetchRequest, p kmsg.FetchResponseTopicPartition) []kmsg.FetchResponseTopic {
	t := kmsg.NewFetchResponseTopic()
	t.Topic = topic
	if len(req.Topics) > 0 {
		t.TopicID = req.Topics[0].TopicID
	}
	t.Partitions = append(t.Partitions, p)
	return []kmsg.FetchResponseTopic{t}
}

func epochResponse(req *kmsg.OffsetForLeaderEpochRequest, said *epochReply) (kmsg.Response, error) {
	code, err := errorCode(said.Error)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	t, p := kmsg.NewOffsetForLeaderEpochResponseTopic(), kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	t.Topic = topic
	p.ErrorCode, p.LeaderEpoch, p.EndOffset = code, said.Epoch, said.EndOffset
	if code != 0 {
		p.LeaderEpoch, p.EndOffset = -1, -1
	}
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp, nil
}

func offsetResponse(req *kmsg.ListOffsetsRequest, said *offsetReply) (kmsg.Response, error) {
	code, err := errorCode(said.Error)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	t, p := kmsg.NewListOffsetsResponseTopic(), kmsg.NewListOffsetsResponseTopicPartition()
	t.Topic = topic
	p.ErrorCode, p.Offset, p.LeaderEpoch, p.Timestamp = code, said.Offset, said.Epoch, -1
	if code != 0 {
		p.Offset, p.LeaderEpoch = -1, -1
	}
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp, nil
}

// metadata answers who leads. Without a leader the partition has an error, as Kafka answers it.
func (c *cluster) metadata(req *kmsg.MetadataRequest, heard *metadata) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	for i := range len(c.names) + 1 {
		broker := kmsg.NewMetadataResponseBroker()
		broker.NodeID = int32(i) + 1
		if i == len(c.names) {
			broker.NodeID = coordinatorID
		}
		broker.Host, broker.Port = address(broker.NodeID)
		resp.Brokers = append(resp.Brokers, broker)
	}
	resp.ControllerID = coordinatorID
	if len(req.Topics) == 0 || heard == nil {
		return resp
	}
	p := kmsg.NewMetadataResponseTopicPartition()
	p.Leader, p.LeaderEpoch = -1, -1
	if heard.Leader != nil {
		p.Leader = c.nodeID(*heard.Leader)
	} else {
		p.ErrorCode = kerr.LeaderNotAvailable.Code
	}
	if heard.LeaderEpoch != nil {
		p.LeaderEpoch = *heard.LeaderEpoch
	}
	for i := range c.names {
		p.Replicas = append(p.Replicas, int32(i)+1)
	}
	p.ISR = p.Replicas
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID = kmsg.StringPtr(topic), topicUUID(heard.TopicID)
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp
}
