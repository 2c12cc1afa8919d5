package main

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
)

// What franz-go does, as far as the traces turn on it. What is expected here was first read in franz-go's sources (the
// functions are named), and is held against the client that is linked.

// play gives the driver commands, without their trace, and returns what it said to each: answer and messages, as JSON.
func play(t *testing.T, configure string, steps ...string) []string {
	t.Helper()
	var said []string
	synctest.Test(t, func(t *testing.T) {
		var d driver
		defer d.close()
		said = playOn(t, &d, configure, steps...)
	})
	return said
}

func playOn(t *testing.T, d *driver, configure string, steps ...string) (said []string) {
	t.Helper()
	var first command
	if err := json.Unmarshal([]byte(`{"configure":`+configure+`}`), &first); err != nil {
		t.Fatal(err)
	}
	d.reset(first.Configure)
	for _, step := range steps {
		var next command
		if err := json.Unmarshal([]byte(step), &next); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		got := d.step(&next)
		if got.Broken != "" || got.Skipped != "" {
			t.Fatalf("%s: %s%s", step, got.Broken, got.Skipped)
		}
		text, err := json.Marshal(got.OK)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, string(text))
	}
	return said
}

func expect(t *testing.T, said, want string) {
	t.Helper()
	if said != want {
		t.Errorf("\n said %s\n want %s", said, want)
	}
}

// The logs of S15 and S16: L has epoch 1 alone; M was elected in epoch 3, and the consumer has read from it up to 2.
var readFromM = []string{
	`{"do":{"at":"L","do":{"lead":{"leader_epoch":1,"alone":true}}}}`,
	`{"do":{"at":"L","do":{"append":{"records":["r0"]}}}}`,
	`{"do":{"at":"M","do":{"follow":{"leader_epoch":1,"truncate_to":0,"records":[[0,1,"r0"]],"epochs":[[1,0]],"high_watermark":1}}}}`,
	`{"do":{"at":"M","do":{"lead":{"leader_epoch":3,"alone":true}}}}`,
	`{"do":{"at":"M","do":{"append":{"records":["m1"]}}}}`,
	`{"do":{"at":"consumer","do":{"assign":{"committed":{"offset":0}}}}}`,
	`{"do":{"read":{"from":"M","up_to":2}}}`,
}

const (
	brokers      = `{"brokers":["L","M"],"reset":"none"}`
	latestPolicy = `{"brokers":["L","M"],"reset":"latest"}`
	lLeads       = `{"do":{"metadata":{"leader":"L","leader_epoch":4}}}`
)

// deliver is the step in which the answer to a request arrives.
func deliver(request, content string) string {
	return `{"do":{"deliver":"x"},"message":{"from":"L","reply_to":"` + request + `","content":{"to":"consumer",` + content + `}}}`
}

func epochEnds(request, epoch, end string) string {
	return deliver(request, `"offset_for_leader_epoch_reply":{"epoch":`+epoch+`,"end_offset":`+end+`}`)
}

// last is what was said to the last n steps.
func last(said []string, n int) []string { return said[len(said)-n:] }

func with(before []string, steps ...string) []string {
	return append(append([]string(nil), before...), steps...)
}

// loadEpochsForBrokerLoad looks at the end offset alone; handleListOrEpochResults then takes the answer's epoch.
func TestAReplacedRecordIsAcceptedAndItsEpochForgotten(t *testing.T) {
	said := last(play(t, brokers, with(readFromM, lLeads, epochEnds("q1", "1", "2"),
		`{"do":{"metadata":{"leader":"M","leader_epoch":5}}}`)...), 3)
	expect(t, said[0], `{"sends":{"q1":{"to":"L","offset_for_leader_epoch":{"epoch":3,"current_leader_epoch":4}}}}`)
	expect(t, said[1], `{"sends":{"q2":{"to":"L","fetch":{"offset":2,"current_leader_epoch":4}}}}`)
	expect(t, said[2], `{"sends":{"q3":{"to":"M","offset_for_leader_epoch":{"epoch":1,"current_leader_epoch":5}}}}`)
}

// migrateCursorTo ends the consumer's session, in which alone fetches are answered.
func TestALateAnswerOfTheOldLeaderIsDropped(t *testing.T) {
	said := last(play(t, brokers, with(readFromM, `{"do":{"poll":{}}}`, lLeads, epochEnds("q2", "3", "2"),
		deliver("q1", `"fetch_reply":{"records":[[2,3,"m2"]],"high_watermark":3}`))...), 4)
	expect(t, said[0], `{"sends":{"q1":{"to":"M","fetch":{"offset":2,"current_leader_epoch":3}}}}`)
	expect(t, said[2], `{"sends":{"q3":{"to":"L","fetch":{"offset":2,"current_leader_epoch":4}}}}`)
	expect(t, said[3], `{}`)
}

// The position moves with a policy and without, and the application is told both times. A trace of Kafka's consumer has
// an exception in the second case alone, and so has this driver.
func TestATruncationMovesThePositionAndIsTold(t *testing.T) {
	moves := `"sends":{"q2":{"to":"L","fetch":{"offset":1,"current_leader_epoch":4}}}}`
	for configure, want := range map[string]string{
		brokers:      `{"answer":{"exception":{"log_truncation":{"offset":2,"divergent":{"epoch":1,"end_offset":1}}}},` + moves,
		latestPolicy: `{` + moves,
	} {
		synctest.Test(t, func(t *testing.T) {
			var d driver
			defer d.close()
			said := last(playOn(t, &d, configure, with(readFromM, lLeads, epochEnds("q1", "1", "1"))...), 1)
			expect(t, said[0], want)
			if losses := d.consumer.losses; len(losses) != 1 || losses[0].ConsumedTo != 2 || losses[0].ResetTo != 1 {
				t.Errorf("%s: told of %v", configure, losses)
			}
		})
	}
}

func TestAnAnswerWithoutAnEndCannotTellWithoutAPolicy(t *testing.T) {
	said := last(play(t, brokers, with(readFromM, lLeads, epochEnds("q1", "-1", "-1"))...), 1)
	expect(t, said[0], `{"sends":{"q2":{"to":"L","fetch":{"offset":2,"current_leader_epoch":4}}}}`)
}

// errResetAfterUndefinedEpoch: the log is asked for its start, its end, and what the policy says.
func TestAnAnswerWithoutAnEndAsksForTheLogsEdgesWithAPolicy(t *testing.T) {
	said := last(play(t, latestPolicy, with(readFromM, lLeads, epochEnds("q1", "-1", "-1"))...), 1)
	for _, edge := range []string{"earliest", "latest"} {
		if !strings.Contains(said[0], `"list_offsets":{"timestamp":"`+edge+`","current_leader_epoch":4}`) {
			t.Errorf("no question for the %s offset: %s", edge, said[0])
		}
	}
}

// listOffsetsForBrokerLoad: the epoch that comes with an offset becomes that of the position, which nothing was read at.
func TestTheEpochOfAListedOffsetIsTakenForOneThatWasRead(t *testing.T) {
	said := play(t, latestPolicy,
		`{"do":{"at":"consumer","do":{"assign":{}}}}`,
		`{"do":{"metadata":{"leader":"L","leader_epoch":1}}}`,
		deliver("q1", `"list_offsets_reply":{"offset":5,"epoch":1}`),
		`{"do":{"metadata":{"leader":"M","leader_epoch":2}}}`,
		epochEnds("q3", "1", "3"))
	expect(t, said[3], `{"sends":{"q3":{"to":"M","offset_for_leader_epoch":{"epoch":1,"current_leader_epoch":2}}}}`)
	expect(t, said[4], `{"sends":{"q4":{"to":"M","fetch":{"offset":3,"current_leader_epoch":2}}}}`)
}

// mergeTopicPartitions, maxEpochRewinds.
func TestMetadataOfAnOlderEpochIsBelievedAtTheSixthTime(t *testing.T) {
	older := `{"do":{"metadata":{"leader":"L","leader_epoch":1}}}`
	said := last(play(t, brokers, with(readFromM, older, older, older, older, older, older)...), 6)
	expect(t, said[0], `{"sends":{"q1":{"to":"M","fetch":{"offset":2,"current_leader_epoch":3}}}}`)
	for _, ignored := range said[1:5] {
		expect(t, ignored, `{}`)
	}
	expect(t, said[5], `{"sends":{"q2":{"to":"L","offset_for_leader_epoch":{"epoch":3,"current_leader_epoch":1}}}}`)
}

// mergeTopicPartitions, recreatedFrom.
func TestATopicThatWasCreatedAnewIsNotAdopted(t *testing.T) {
	said := last(play(t, brokers, with(readFromM, `{"do":{"metadata":{"leader":"L","leader_epoch":0,"topic_id":2}}}`)...), 1)
	if strings.Contains(said[0], `"topic_id":2`) {
		t.Errorf("the new topic is fetched from: %s", said[0])
	}
}

func TestACommitHasTheEpochOfTheLastRecord(t *testing.T) {
	said := last(play(t, brokers, with(readFromM, `{"do":{"position":{}}}`, `{"do":{"commit":{}}}`)...), 2)
	expect(t, said[0], `{"answer":{"position":2}}`)
	expect(t, said[1], `{"answer":{"committed":{"offset":2,"epoch":3}}}`)
}

func TestACommittedEpochIsValidatedAtTheLeaderThatIsKnown(t *testing.T) {
	said := last(play(t, brokers,
		`{"do":{"at":"consumer","do":{"assign":{"committed":{"offset":3,"epoch":2}}}}}`,
		`{"do":{"metadata":{"leader":"L","leader_epoch":1}}}`), 1)
	expect(t, said[0], `{"sends":{"q1":{"to":"L","offset_for_leader_epoch":{"epoch":2,"current_leader_epoch":1}}}}`)
}

func TestARequestThatFailsIsRepeatedWhenTimePasses(t *testing.T) {
	said := last(play(t, brokers, with(readFromM, `{"do":{"poll":{}}}`,
		`{"do":{"fail":"f"},"message":{"from":"consumer","label":"q1","content":{"to":"M"}}}`, `{"do":{"elapse":{}}}`)...), 2)
	expect(t, said[0], `{}`)
	expect(t, said[1], `{"sends":{"q2":{"to":"M","fetch":{"offset":2,"current_leader_epoch":3}}}}`)
}

// assignPartitions, assignSetMatching: the cursor is set; the epoch is asked for at the next leader.
func TestASeekWithAnEpochIsNotValidatedWhileThePartitionIsInUse(t *testing.T) {
	said := last(play(t, brokers, with(readFromM, `{"do":{"seek":{"offset":1,"epoch":1}}}`, `{"do":{"poll":{}}}`, lLeads)...), 2)
	expect(t, said[0], `{"sends":{"q1":{"to":"M","fetch":{"offset":1,"current_leader_epoch":3}}}}`)
	expect(t, said[1], `{"sends":{"q2":{"to":"L","offset_for_leader_epoch":{"epoch":1,"current_leader_epoch":4}}}}`)
}

func TestASeekWithAnEpochIsValidatedBeforeThePartitionIsAssigned(t *testing.T) {
	said := play(t, brokers, `{"do":{"at":"consumer","do":{"assign":{}}}}`, `{"do":{"seek":{"offset":1,"epoch":1}}}`, lLeads)
	expect(t, said[2], `{"sends":{"q1":{"to":"L","offset_for_leader_epoch":{"epoch":1,"current_leader_epoch":4}}}}`)
}
