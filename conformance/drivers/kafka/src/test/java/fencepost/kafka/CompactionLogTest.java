package fencepost.kafka;

import static fencepost.kafka.CompactionFindingsTest.append;
import static fencepost.kafka.CompactionFindingsTest.at;
import static fencepost.kafka.CompactionFindingsTest.end;
import static fencepost.kafka.CompactionFindingsTest.records;
import static fencepost.kafka.CompactionFindingsTest.transactional;
import static fencepost.kafka.CompactionFindingsTest.upTo;
import static fencepost.kafka.Conversation.json;
import static fencepost.kafka.Conversation.ofLog;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;

/** The log under the rounds: producers, followers, readers, retention, and what is refused. */
class CompactionLogTest {
    /** A batch of three records at offsets 10 to 12, the middle one a tombstone, as Kafka writes it. */
    private static final String THREE_AT_TEN = "000000000000000a0000005000000007021eb7713600000000000200000000000003e800000000000003ed"
        + "ffffffffffffffffffffffffffff0000000314000000046b310476310010000a02046b32010014000604046b3304763300";

    private static String from(String producer, String more) {
        return append("k", "1").replace("'records'", "'producer':'" + producer + "'" + more + ",'records'");
    }

    @Test
    void an_older_epoch_a_gap_and_a_marker_from_nowhere_are_refused_by_kafkas_names() {
        Conversation log = ofLog(10, 2, "").after(from("7", ",'epoch':3"));
        assertEquals("INVALID_PRODUCER_EPOCH", log.error(from("7", ",'epoch':2")));
        assertEquals("OUT_OF_ORDER_SEQUENCE_NUMBER", log.error(from("7", ",'sequence':5")));
        assertEquals("OFFSET_OUT_OF_RANGE", log.error("{'read':{'isolation':'read_uncommitted','from':9}}"));
        assertEquals("INVALID_RECORD", log.error("{'append':{'records':[{'key':null,'value':'1'}]}}"));
        assertEquals("POLICY_VIOLATION", log.error("{'delete_records':1}"));
        assertEquals(1, log.state().get("log_end").asInt());
    }

    @Test
    void the_epoch_and_sequence_of_a_producer_go_on_where_the_log_has_them() {
        Conversation one = ofLog(10, 1, "").after(transactional("p", "a", "1"), end("p", "commit"), transactional("p", "b", "1"));
        assertEquals(json("{'p':{'epoch':0,'last_data':2,'last_sequence':1}}"), one.state().get("producers"));
        Conversation two = ofLog(10, 2, "").after(transactional("p", "a", "1"), end("p", "commit"), transactional("p", "b", "1"));
        assertEquals(json("{'p':{'epoch':1,'last_data':2,'last_sequence':0}}"), two.state().get("producers"));
    }

    @Test
    void a_follower_takes_the_leaders_bytes_with_their_horizon_and_over_gaps() {
        Conversation log = ofLog(10, 2, ",'replicas':['a','b']").after(append("k", "1"), append("k", null), "{'roll':{}}", upTo(2),
            "{'clean':{}}");
        JsonNode fetched = log.stepAt("b", "{'fetch':{}}").get("ok");
        assertEquals(json("{'first':1,'last':1}"), fetched.get("answer"));
        assertEquals(log.state().get("bytes"), fetched.get("state").get("bytes"));
        assertEquals(5100, fetched.get("state").get("log").get(0).get("horizon_ms").asLong());
        assertTrue(!log.stepAt("b", "{'fetch':{}}").get("ok").has("answer"));
    }

    @Test
    void bytes_keep_their_offsets_from_a_leader_and_get_new_ones_from_a_client() {
        Conversation log = ofLog(10, 2, "");
        String fromZero = "00".repeat(8) + THREE_AT_TEN.substring(16);
        assertEquals(json("{'first':0,'last':2}"), log.answer("{'append_bytes':{'origin':'client','bytes':'" + fromZero + "'}}"));
        // A client counts the offsets of its batch from 0.
        assertEquals("INVALID_RECORD", log.error("{'append_bytes':{'origin':'client','bytes':'" + THREE_AT_TEN + "'}}"));
        assertEquals(json("{'first':10,'last':12}"), log.answer("{'append_bytes':{'origin':'leader','bytes':'" + THREE_AT_TEN + "'}}"));
        assertEquals(THREE_AT_TEN, log.state().get("bytes").get(1).asText());
    }

    @Test
    void a_reader_of_one_batch_at_a_time_steps_over_markers_and_what_was_aborted() {
        Conversation log = ofLog(10, 2, "").after(
            transactional("p", "a", "1"), end("p", "abort"), append("b", "1"), append("b", "2"), upTo(4));
        assertEquals(json("{'records':[],'next':1}"), log.answer("{'read':{'isolation':'read_committed','from':0,'batches':1}}"));
        assertEquals(json("{'records':[[2,'b','1']],'next':3}"), log.answer("{'read':{'isolation':'read_committed','from':0,'batches':3}}"));
        assertEquals(json("[[0,'a','1'],[2,'b','1'],[3,'b','2']]"),
            log.answer("{'read':{'isolation':'read_uncommitted','from':0}}").get("records"));
    }

    @Test
    void a_reader_of_what_is_committed_stops_at_an_open_transaction() {
        Conversation log = ofLog(10, 2, "").after(append("b", "1"), transactional("p", "a", "1"), append("b", "2"), upTo(3));
        assertEquals(json("[[0,'b','1']]"), records(log));
        assertEquals(1, log.state().get("last_stable").asInt());
    }

    @Test
    void a_look_up_finds_the_first_record_that_is_not_older() {
        Conversation log = ofLog(10, 2, "").after(append("a", "1"), at(6000), append("b", "1"), upTo(2));
        assertEquals(json("{'first':1,'timestamp_ms':6000}"), log.answer("{'look_up_ms':5001}"));
        assertTrue(log.answer("{'look_up_ms':6001}").isMissingNode());
    }

    /** The empty segment counts as one that ends with the time at which its file was modified, and is searched alone. */
    @Test
    void a_look_up_finds_nothing_once_a_round_has_left_an_empty_segment_before_it() {
        Conversation log = ofLog(10, 2, ",'segment_bytes':100").after(append("k", "1"), "{'roll':{}}", append("k", "2"), "{'roll':{}}",
            append("y", "1"), upTo(3));
        assertEquals(0, log.answer("{'look_up_ms':5000}").get("first").asInt());
        log.after("{'clean':{}}");
        assertEquals(json("[[1,'k','2'],[2,'y','1']]"), records(log));
        assertEquals(json("[0,1,2]"), log.state().get("segments"));
        assertTrue(log.answer("{'look_up_ms':5000}").isMissingNode());
    }

    @Test
    void segments_are_deleted_when_they_are_too_old_or_below_the_start() {
        Conversation log = ofLog(10, 2, ",'cleanup_policy':['compact','delete'],'retention_ms':1000")
            .after(append("a", "1"), "{'roll':{}}", append("b", "1"), "{'roll':{}}", append("c", "1"), upTo(3), "{'delete_records':1}",
                "{'delete_segments':{}}");
        assertEquals(json("[1,2]"), log.state().get("segments"));
        log.after(at(6001), append("d", "1"), "{'delete_segments':{}}");
        assertEquals(json("[2]"), log.state().get("segments"));
        assertEquals(2, log.state().get("log_start").asInt());
    }

    @Test
    void a_producer_that_was_silent_for_long_enough_is_forgotten() {
        Conversation log = ofLog(10, 2, ",'producer_expiration_ms':100").after(from("p", ""), at(5099), "{'expire_producers':{}}");
        assertEquals(1, log.state().get("producers").size());
        log.after(at(5100), "{'expire_producers':{}}");
        assertEquals(0, log.state().get("producers").size());
    }

    @Test
    void a_trace_that_begins_finds_nothing_of_the_one_before() {
        Conversation log = ofLog(10, 2, "").after(append("a", "1"), "{'roll':{}}");
        log.say("{'cmd':'reset','trace':'compaction/test','configure':{'now_ms':5000,'delete_retention_ms':100,'map_entries':1,"
            + "'index_interval_bytes':0,'transaction_protocol':2}}");
        assertEquals(0, log.state().get("log_end").asInt());
    }
}
