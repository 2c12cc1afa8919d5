package main

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Records as bytes: each record of a trace is a batch of its own. A client may see a batch that begins before the offset
// it asked for, but no trace of consumers turns on that.

const (
	transactional = 0x10
	control       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// producers gives each producer of a trace a number.
type producers struct {
	ids map[string]int64
}

func (p *producers) id(name string) int64 {
	if name == "" {
		return -1
	}
	id, known := p.ids[name]
	if !known {
		if p.ids == nil {
			p.ids = make(map[string]int64)
		}
		id = int64(len(p.ids)) + 1
		p.ids[name] = id
	}
	return id
}

func (p *producers) name(id int64) string {
	for name, known := range p.ids {
		if known == id {
			return name
		}
	}
	return ""
}

// isMarker says whether the record ends a transaction.
func (r record) isMarker() bool {
	return r.Producer != "" && (r.ID == "commit" || r.ID == "abort")
}

// timestamp is what `list_offsets` asks by.
func (r record) timestamp() int64 {
	return 10*int64(r.Epoch) + r.Offset
}

// batch is the record in a batch of the format that Kafka has had since 0.11.
func (r record) batch(p *producers) []byte {
	var attributes int16
	var key []byte
	value := []byte(r.ID)
	if r.Producer != "" {
		attributes |= transactional
	}
	if r.isMarker() {
		attributes |= control
		// Version 0, and the type: 1 commits.
		key, value = []byte{0, 0, 0, 0}, make([]byte, 6)
		if r.ID == "commit" {
			key[3] = 1
		}
	}
	body := kmsg.Record{Key: key, Value: value}
	// The length, a varint, is that of all that follows; of these few bytes it takes one byte itself.
	body.Length = int32(len(body.AppendTo(nil)) - 1)
	batch := kmsg.RecordBatch{
		FirstOffset:          r.Offset,
		PartitionLeaderEpoch: r.Epoch,
		Magic:                2,
		Attributes:           attributes,
		FirstTimestamp:       r.timestamp(),
		MaxTimestamp:         r.timestamp(),
		ProducerID:           p.id(r.Producer),
		ProducerEpoch:        -1,
		FirstSequence:        -1,
		NumRecords:           1,
		Records:              body.AppendTo(nil),
	}
	if r.Producer != "" {
		batch.ProducerEpoch = 0
	}
	bytes := batch.AppendTo(nil)
	// The length counts what stands behind it; the checksum what stands behind the checksum.
	binary.BigEndian.PutUint32(bytes[8:], uint32(len(bytes)-12))
	binary.BigEndian.PutUint32(bytes[17:], crc32.Checksum(bytes[21:], castagnoli))
	return bytes
}

// oldMessage is the record in the format before 0.11, which has no epochs.
func (r record) oldMessage() []byte {
	message := kmsg.MessageV1{Offset: r.Offset, Magic: 1, Timestamp: r.timestamp(), Value: []byte(r.ID)}
	bytes := message.AppendTo(nil)
	binary.BigEndian.PutUint32(bytes[8:], uint32(len(bytes)-12))
	binary.BigEndian.PutUint32(bytes[12:], crc32.ChecksumIEEE(bytes[16:]))
	return bytes
}

// encode is what a broker answers a fetch request with.
func encode(records []record, p *producers, old bool) []byte {
	var bytes []byte
	for _, r := range records {
		if old {
			bytes = append(bytes, r.oldMessage()...)
		} else {
			bytes = append(bytes, r.batch(p)...)
		}
	}
	return bytes
}
