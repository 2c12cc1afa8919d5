package main

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// read is what franz-go makes of records as this driver encodes them.
func read(t *testing.T, records []record, gone []aborted, isolation kgo.IsolationLevel, old bool) ([]record, int64) {
	t.Helper()
	var p producers
	answered := kmsg.NewFetchResponseTopicPartition()
	answered.RecordBatches = encode(records, &p, old)
	for _, a := range gone {
		transaction := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
		transaction.ProducerID, transaction.FirstOffset = p.id(a.Producer), a.FirstOffset
		answered.AbortedTransactions = append(answered.AbortedTransactions, transaction)
	}
	options := kgo.ProcessFetchPartitionOpts{Topic: topic, IsolationLevel: isolation}
	got, next := kgo.ProcessFetchPartition(options, &answered, kgo.DefaultDecompressor(), nil)
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	var found []record
	for _, r := range got.Records {
		if r.Timestamp.UnixMilli() != (record{Offset: r.Offset, Epoch: r.LeaderEpoch}).timestamp() {
			t.Errorf("record %d has the timestamp %v", r.Offset, r.Timestamp)
		}
		found = append(found, record{r.Offset, r.LeaderEpoch, string(r.Value), p.name(r.ProducerID)})
	}
	return found, next
}

var log = []record{{3, 1, "r3", ""}, {4, 2, "a4", "p"}, {5, 2, "abort", "p"}, {6, 2, "c6", "q"}, {7, 3, "commit", "q"}}

func TestRecordsAreReadAsTheyAreWritten(t *testing.T) {
	got, next := read(t, log, nil, kgo.ReadUncommitted(), false)
	if want := []record{log[0], log[1], log[3]}; !slices.Equal(got, want) || next != 8 {
		t.Errorf("got %v up to %d", got, next)
	}
}

func TestWhatWasAbortedIsNotReadByAReaderOfWhatIsCommitted(t *testing.T) {
	got, _ := read(t, log, []aborted{{"p", 4}}, kgo.ReadCommitted(), false)
	if want := []record{log[0], log[3]}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestTheOldFormatHasNoEpochs(t *testing.T) {
	old := []record{{0, -1, "r0", ""}, {1, -1, "r1", ""}}
	got, next := read(t, old, nil, kgo.ReadUncommitted(), true)
	if !slices.Equal(got, old) || next != 2 {
		t.Errorf("got %v up to %d", got, next)
	}
}

func TestErrorsHaveKafkasNames(t *testing.T) {
	for name, want := range map[string]int16{
		"": 0, "OFFSET_OUT_OF_RANGE": 1, "UNKNOWN_TOPIC_OR_PARTITION": 3, "NOT_LEADER_OR_FOLLOWER": 6,
		"FENCED_LEADER_EPOCH": 74, "UNKNOWN_LEADER_EPOCH": 75, "OFFSET_NOT_AVAILABLE": 78, "UNKNOWN_TOPIC_ID": 100,
	} {
		if code, err := errorCode(name); code != want || err != nil {
			t.Errorf("%s: %d, %v", name, code, err)
		}
	}
	if _, err := errorCode("LOG_TRUNCATION"); err == nil {
		t.Error("an error of a draft has a code")
	}
}
