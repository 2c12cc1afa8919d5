package main

import (
	"encoding/json"
	"fmt"
)

// The lines of the driver protocol (docs/writing-a-driver.md), in the words of the traces of consumers
// (docs/fixture-format.md). What this driver never looks at is left out.

type command struct {
	Cmd       string          `json:"cmd"`
	Trace     string          `json:"trace"`
	At        json.RawMessage `json:"at"`
	Configure configure       `json:"configure"`
	Broker    string          `json:"broker"`
	Do        *doing          `json:"do"`
	Message   *delivery       `json:"message"`
}

type configure struct {
	Brokers          []string `json:"brokers"`
	Reset            string   `json:"reset"`
	ReadCommitted    bool     `json:"read_committed"`
	OldMessageFormat bool     `json:"old_message_format"`
	OldBrokers       bool     `json:"old_brokers"`
}

// doing is an operation of a step, or one of the setup: places and an operation, or read.
type doing struct {
	operation
	At   []string   `json:"-"`
	Do   *operation `json:"do"`
	Read *reading   `json:"read"`
}

// UnmarshalJSON reads `at`, which is one place or a list of them.
func (d *doing) UnmarshalJSON(text []byte) error {
	type plain doing
	var places struct {
		At json.RawMessage `json:"at"`
	}
	if err := json.Unmarshal(text, (*plain)(d)); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &places); err != nil || len(places.At) == 0 {
		return err
	}
	if places.At[0] == '[' {
		return json.Unmarshal(places.At, &d.At)
	}
	d.At = make([]string, 1)
	return json.Unmarshal(places.At, &d.At[0])
}

type operation struct {
	Lead           *lead           `json:"lead"`
	Follow         *follow         `json:"follow"`
	Append         *appending      `json:"append"`
	EndTransaction *endTransaction `json:"end_transaction"`
	HighWatermark  *int64          `json:"high_watermark"`
	Recreate       *recreate       `json:"recreate"`
	Deliver        string          `json:"deliver"`
	Assign         *assign         `json:"assign"`
	Seek           *position       `json:"seek"`
	SeekTo         string          `json:"seek_to"`
	Poll           *struct{}       `json:"poll"`
	Metadata       *metadata       `json:"metadata"`
	Fail           string          `json:"fail"`
	Elapse         *struct{}       `json:"elapse"`
	Commit         *struct{}       `json:"commit"`
	Position       *struct{}       `json:"position"`
	Restart        *struct{}       `json:"restart"`
}

type reading struct {
	From string `json:"from"`
	UpTo int64  `json:"up_to"`
}

type lead struct {
	LeaderEpoch int32 `json:"leader_epoch"`
	Alone       bool  `json:"alone"`
}

type follow struct {
	LeaderEpoch   int32      `json:"leader_epoch"`
	TruncateTo    int64      `json:"truncate_to"`
	Records       []record   `json:"records"`
	Epochs        [][2]int64 `json:"epochs"`
	HighWatermark int64      `json:"high_watermark"`
}

type appending struct {
	Records  []string `json:"records"`
	Producer string   `json:"producer"`
}

type endTransaction struct {
	Producer string `json:"producer"`
	Commit   bool   `json:"commit"`
}

type recreate struct {
	TopicID uint16 `json:"topic_id"`
}

type assign struct {
	Committed *position `json:"committed"`
}

type position struct {
	Offset int64  `json:"offset"`
	Epoch  *int32 `json:"epoch,omitempty"`
}

type metadata struct {
	Leader      *string `json:"leader"`
	LeaderEpoch *int32  `json:"leader_epoch"`
	TopicID     uint16  `json:"topic_id"`
}

// record is a record as a trace writes it: [offset, epoch, id], and [offset, epoch, id, producer] in a transaction.
type record struct {
	Offset   int64
	Epoch    int32
	ID       string
	Producer string
}

func (r *record) UnmarshalJSON(text []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	if len(parts) < 3 || len(parts) > 4 {
		return fmt.Errorf("a record has three or four parts, not %d", len(parts))
	}
	for i, field := range []any{&r.Offset, &r.Epoch, &r.ID, &r.Producer}[:len(parts)] {
		if err := json.Unmarshal(parts[i], field); err != nil {
			return err
		}
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (r record) MarshalJSON() ([]byte, error) {
	parts := []any{r.Offset, r.Epoch, r.ID}
	if r.Producer != "" {
		parts = append(parts, r.Producer)
	}
	return json.Marshal(parts)
}

// aborted is a transaction that was aborted: [producer, first offset].
type aborted struct {
	Producer    string
	FirstOffset int64
}

func (a *aborted) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&a.Producer, &a.FirstOffset})
}

type delivery struct {
	From    string  `json:"from"`
	Label   string  `json:"label"`
	ReplyTo string  `json:"reply_to"`
	Content message `json:"content"`
}

type message struct {
	To               string        `json:"to"`
	Fetch            *fetch        `json:"fetch,omitempty"`
	FetchReply       *fetchReply   `json:"fetch_reply,omitempty"`
	EpochRequest     *epochRequest `json:"offset_for_leader_epoch,omitempty"`
	EpochReply       *epochReply   `json:"offset_for_leader_epoch_reply,omitempty"`
	ListOffsets      *listOffsets  `json:"list_offsets,omitempty"`
	ListOffsetsReply *offsetReply  `json:"list_offsets_reply,omitempty"`
}

type fetch struct {
	Offset             int64  `json:"offset"`
	CurrentLeaderEpoch int32  `json:"current_leader_epoch"`
	LastEpoch          *int32 `json:"last_epoch,omitempty"`
	TopicID            uint16 `json:"topic_id,omitempty"`
}

type fetchReply struct {
	Records          []record  `json:"records"`
	HighWatermark    int64     `json:"high_watermark"`
	Aborted          []aborted `json:"aborted"`
	PreferredReplica string    `json:"preferred_replica"`
	Error            string    `json:"error"`
}

type epochRequest struct {
	Epoch              int32 `json:"epoch"`
	CurrentLeaderEpoch int32 `json:"current_leader_epoch"`
}

type epochReply struct {
	Epoch     int32  `json:"epoch"`
	EndOffset int64  `json:"end_offset"`
	Error     string `json:"error"`
}

type listOffsets struct {
	Timestamp          any   `json:"timestamp"`
	CurrentLeaderEpoch int32 `json:"current_leader_epoch"`
}

type offsetReply struct {
	Offset int64  `json:"offset"`
	Epoch  int32  `json:"epoch"`
	Error  string `json:"error"`
}

// What the driver writes.

type line struct {
	Trace   string          `json:"trace"`
	At      json.RawMessage `json:"at,omitempty"`
	OK      *outcome        `json:"ok,omitempty"`
	Error   string          `json:"error,omitempty"`
	Skipped string          `json:"skipped,omitempty"`
	Broken  string          `json:"broken,omitempty"`
}

type outcome struct {
	Answer *answer            `json:"answer,omitempty"`
	Sends  map[string]message `json:"sends,omitempty"`
}

type answer struct {
	Records   []record   `json:"records,omitempty"`
	Exception *exception `json:"exception,omitempty"`
	Committed *position  `json:"committed,omitempty"`
	Position  *int64     `json:"position,omitempty"`
}

type exception struct {
	LogTruncation    *truncation `json:"log_truncation,omitempty"`
	OffsetOutOfRange *outOfRange `json:"offset_out_of_range,omitempty"`
	NoOffset         *struct{}   `json:"no_offset,omitempty"`
}

type truncation struct {
	Offset    int64     `json:"offset"`
	Divergent *epochEnd `json:"divergent,omitempty"`
}

type epochEnd struct {
	Epoch     int32 `json:"epoch"`
	EndOffset int64 `json:"end_offset"`
}

type outOfRange struct {
	Offset int64 `json:"offset"`
}
