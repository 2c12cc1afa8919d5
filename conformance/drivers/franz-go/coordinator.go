package main

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The group's coordinator: one member, which gets the one partition, and what it has committed.

const (
	group  = "g"
	member = "m"
)

// The requests that brokers know, with their newest version: one of a few years ago, that has all which traces tell of.
var versions = map[kmsg.Key]int16{
	kmsg.Fetch: 16, kmsg.ListOffsets: 7, kmsg.Metadata: 12, kmsg.OffsetCommit: 8, kmsg.OffsetFetch: 8,
	kmsg.FindCoordinator: 4, kmsg.JoinGroup: 9, kmsg.Heartbeat: 4, kmsg.LeaveGroup: 5, kmsg.SyncGroup: 5,
	kmsg.ApiVersions: 3, kmsg.OffsetForLeaderEpoch: 4,
}

// The same of Kafka 2.0, in which metadata has no epochs, and no request says which one it knows.
var oldVersions = map[kmsg.Key]int16{
	kmsg.Fetch: 8, kmsg.ListOffsets: 3, kmsg.Metadata: 6, kmsg.OffsetCommit: 4, kmsg.OffsetFetch: 4,
	kmsg.FindCoordinator: 2, kmsg.JoinGroup: 3, kmsg.Heartbeat: 2, kmsg.LeaveGroup: 2, kmsg.SyncGroup: 2,
	kmsg.ApiVersions: 2, kmsg.OffsetForLeaderEpoch: 1,
}

func (c *cluster) apiVersions(req *kmsg.ApiVersionsRequest) kmsg.Response {
	known := versions
	if c.old {
		known = oldVersions
	}
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if req.Version > known[kmsg.ApiVersions] {
		// A version that the broker does not know is refused in the oldest one, with the list all the same.
		req.SetVersion(0)
		resp.ErrorCode = kerr.UnsupportedVersion.Code
	}
	for key, newest := range known {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key.Int16(), newest
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	return resp
}

// coordinate answers the requests of a group.
func (c *cluster) coordinate(req kmsg.Request) kmsg.Response {
	switch req := req.(type) {
	case *kmsg.FindCoordinatorRequest:
		resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
		host, port := address(coordinatorID)
		resp.NodeID, resp.Host, resp.Port = coordinatorID, host, port
		for _, key := range req.CoordinatorKeys {
			found := kmsg.NewFindCoordinatorResponseCoordinator()
			found.Key, found.NodeID, found.Host, found.Port = key, coordinatorID, host, port
			resp.Coordinators = append(resp.Coordinators, found)
		}
		return resp
	case *kmsg.JoinGroupRequest:
		resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
		resp.Generation, resp.LeaderID, resp.MemberID = 1, member, member
		resp.ProtocolType = kmsg.StringPtr(req.ProtocolType)
		for _, protocol := range req.Protocols {
			resp.Protocol = kmsg.StringPtr(protocol.Name)
			m := kmsg.NewJoinGroupResponseMember()
			m.MemberID, m.ProtocolMetadata = member, protocol.Metadata
			resp.Members = []kmsg.JoinGroupResponseMember{m}
		}
		return resp
	case *kmsg.SyncGroupRequest:
		resp := req.ResponseKind().(*kmsg.SyncGroupResponse)
		resp.ProtocolType, resp.Protocol = req.ProtocolType, req.Protocol
		for _, assigned := range req.GroupAssignment {
			resp.MemberAssignment = assigned.MemberAssignment
		}
		return resp
	case *kmsg.OffsetFetchRequest:
		return c.offsets(req)
	case *kmsg.OffsetCommitRequest:
		return c.commit(req)
	default:
		return req.ResponseKind()
	}
}

func (c *cluster) offsets(req *kmsg.OffsetFetchRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	offset, epoch := int64(-1), int32(-1)
	if c.committed != nil {
		offset = c.committed.Offset
		if c.committed.Epoch != nil {
			epoch = *c.committed.Epoch
		}
	}
	// Up to version 7 one group is asked for, from 8 on several.
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetFetchResponseTopic()
		rt.Topic = t.Topic
		p := kmsg.NewOffsetFetchResponseTopicPartition()
		p.Offset, p.LeaderEpoch = offset, epoch
		rt.Partitions = append(rt.Partitions, p)
		resp.Topics = append(resp.Topics, rt)
	}
	for _, g := range req.Groups {
		rg := kmsg.NewOffsetFetchResponseGroup()
		rg.Group = g.Group
		for _, t := range g.Topics {
			rt := kmsg.NewOffsetFetchResponseGroupTopic()
			rt.Topic = t.Topic
			p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			p.Offset, p.LeaderEpoch = offset, epoch
			rt.Partitions = append(rt.Partitions, p)
			rg.Topics = append(rg.Topics, rt)
		}
		resp.Groups = append(resp.Groups, rg)
	}
	return resp
}

func (c *cluster) commit(req *kmsg.OffsetCommitRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			committed := position{Offset: p.Offset}
			if p.LeaderEpoch >= 0 {
				committed.Epoch = &p.LeaderEpoch
			}
			c.committed = &committed
			c.commits = append(c.commits, committed)
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition = p.Partition
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
