package fencepost.kafka;

import static fencepost.kafka.Conversation.json;
import static fencepost.kafka.Conversation.ofLog;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;

/** What docs/compaction.md 5.3 says of every release from 4.1 to 4.4, on their own classes. */
class CompactionFindingsTest {
    private static final String ROLL = "{'roll':{}}";
    private static final String CLEAN = "{'clean':{}}";
    private static final String READ = "{'read':{'isolation':'read_committed','from':0}}";

    static String append(String key, String value) {
        return "{'append':{'records':[{'key':'" + key + "','value':" + (value == null ? "null" : "'" + value + "'") + "}]}}";
    }

    static String transactional(String producer, String key, String value) {
        return append(key, value).replace("'records'", "'producer':'" + producer + "','transactional':true,'records'");
    }

    static String end(String producer, String result) {
        return "{'end_transaction':{'producer':'" + producer + "','result':'" + result + "'}}";
    }

    static String upTo(int offset) {
        return "{'high_watermark':" + offset + "}";
    }

    static String at(long ms) {
        return "{'clock_ms':" + ms + "}";
    }

    static JsonNode records(Conversation log) {
        return log.answer(READ).get("records");
    }

    @Test
    void n1_a_tombstone_above_the_map_is_stamped_and_goes_together_with_the_value() {
        Conversation log = ofLog(1, 2, "").after(append("k", "v"), append("k", null), ROLL, upTo(2));
        assertEquals(json("{'from':0,'bound':2,'cleaned_to':1,'map_entries':1}"), log.answer(CLEAN));
        assertEquals(5100, log.state().get("log").get(1).get("horizon_ms").asLong());
        log.after(at(5099));
        assertEquals(json("[[0,'k','v'],[1,'k',null]]"), records(log));
        log.after(at(5100), CLEAN);
        assertEquals(json("[]"), records(log));
    }

    @Test
    void n1_needs_a_map_that_is_too_small() {
        Conversation log = ofLog(2, 2, "").after(append("k", "v"), append("k", null), ROLL, upTo(2), CLEAN);
        assertEquals(json("[[1,'k',null]]"), records(log));
    }

    @Test
    void n2_a_committed_tombstone_is_taken_for_aborted_under_both_transaction_protocols() {
        for (int protocol : new int[] {1, 2}) {
            Conversation log = ofLog(1, protocol, "").after(append("k", "v"), transactional("p", "x", "1"), end("p", "abort"),
                transactional("p", "k", null), end("p", "commit"), ROLL, upTo(5));
            assertEquals(json("{'from':0,'bound':5,'cleaned_to':3,'map_entries':1}"), log.answer(CLEAN));
            assertEquals(json("[[0,'k','v'],[3,'k',null]]"), records(log));
            log.after(at(5100));
            assertEquals(json("{'from':3,'bound':5,'cleaned_to':5,'map_entries':0}"), log.answer(CLEAN));
            assertEquals(json("[[0,'k','v']]"), records(log));
        }
    }

    @Test
    void n2_needs_an_aborted_transaction() {
        Conversation log = ofLog(1, 2, "").after(append("k", "v"), transactional("p", "x", "1"), end("p", "commit"),
            transactional("p", "k", null), end("p", "commit"), ROLL, upTo(5));
        for (int now = 5000; now < 6000; now += 100) {
            log.after(at(now), append("y", Integer.toString(now)), ROLL, upTo(log.state().get("log_end").asInt() + 1), CLEAN);
        }
        for (JsonNode left : records(log)) {
            assertNotEquals("k", left.get(1).asText());
        }
    }

    @Test
    void n3_the_horizon_counts_from_the_start_of_the_round() {
        Conversation log = ofLog(10, 2, "").after(append("k", "v"), append("k", null), ROLL, upTo(2),
            "{'start_round':{}}", "{'build_map':{}}", at(5099));
        assertEquals(json("[[0,'k','v'],[1,'k',null]]"), records(log));
        log.after("{'clean_group':{}}", "{'finish_round':{}}");
        assertEquals(5100, log.state().get("log").get(0).get("horizon_ms").asLong());
        log.after(append("y", "1"), ROLL, upTo(3), at(5100), CLEAN);
        assertEquals(json("[[2,'y','1']]"), records(log));
    }

    @Test
    void n5_the_epoch_of_an_emptied_marker_is_not_learnt_from_the_log() {
        Conversation log = ofLog(10, 2, "").after(
            "{'append':{'producer':'7','epoch':3,'transactional':true,'records':[{'key':'x','value':'1'}]}}",
            end("7", "commit"), append("x", "2"), ROLL, upTo(3), CLEAN,
            append("y", "1"), ROLL, upTo(4), CLEAN, at(5100), append("y", "2"), ROLL, upTo(5), CLEAN);
        assertEquals(true, log.state().get("log").get(0).get("emptied_marker").asBoolean());
        assertEquals(4, log.state().get("producers").get("7").get("epoch").asInt());
        String zombie = "{'append':{'producer':'7','epoch':3,'sequence':1,'records':[{'key':'z','value':'1'}]}}";
        assertEquals("INVALID_PRODUCER_EPOCH", log.error(zombie));
        log.after("{'crash':{'loses_snapshots':true}}", upTo(5));
        assertEquals(json("{'epoch':-1,'last_data':-1,'last_sequence':-1}"), log.state().get("producers").get("7"));
        assertEquals(json("{'first':5,'last':5}"), log.answer(zombie));
    }

    @Test
    void n6_a_client_sets_a_horizon_that_has_passed() {
        String stamped = append("k", null).replace("'records'", "'horizon_ms':5,'records'");
        Conversation log = ofLog(10, 2, "").after(append("k", "v"), stamped, append("y", "1"), ROLL, upTo(3));
        assertEquals(5, log.state().get("log").get(1).get("horizon_ms").asLong());
        log.after(CLEAN);
        assertEquals(json("[[2,'y','1']]"), records(log));
    }

    @Test
    void n6_a_batch_that_is_compressed_anew_loses_the_bit() {
        String stamped = append("k", null).replace("'records'", "'horizon_ms':5,'records'");
        Conversation log = ofLog(10, 2, ",'compression':'gzip'").after(append("k", "v"), stamped);
        assertEquals(false, log.state().get("log").get(1).has("horizon_ms"));
    }

    @Test
    void n8_a_truncation_does_not_lower_the_checkpoint_while_the_policy_lacks_compact() {
        String[] before = {append("k", "v"), append("a", "1"), append("b", "1"), ROLL, upTo(3), CLEAN};
        Conversation log = ofLog(10, 2, "").after(before);
        log.after("{'alter':{'cleanup_policy':['delete']}}", "{'truncate':1}");
        assertEquals(3, log.state().get("first_dirty").asInt());
        log.after(append("k", null), append("c", "1"), append("d", "1"), "{'alter':{'cleanup_policy':['compact']}}",
            ROLL, upTo(4), CLEAN, at(5100), append("y", "1"), ROLL, upTo(5), CLEAN);
        assertEquals(json("[[0,'k','v'],[2,'c','1'],[3,'d','1'],[4,'y','1']]"), records(log));
        Conversation compacted = ofLog(10, 2, "").after(before).after("{'truncate':1}");
        assertEquals(0, compacted.state().get("first_dirty").asInt());
    }
}
