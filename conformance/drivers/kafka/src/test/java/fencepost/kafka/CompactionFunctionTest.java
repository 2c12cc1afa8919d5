package fencepost.kafka;

import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;

/** The cleaner's decisions, one call each (docs/compaction.md 2.2 and 2.6). */
class CompactionFunctionTest {
    /** Records at 10, 11 (a tombstone) and 12, as Kafka writes them, without a horizon and with the horizon 5100. */
    private static final String PLAIN = "000000000000000a0000005000000007021eb7713600000000000200000000000003e800000000000003ed"
        + "ffffffffffffffffffffffffffff0000000314000000046b310476310010000a02046b32010014000604046b3304763300";
    private static final String STAMPED = "000000000000000a000000530000000702f81a5cc800400000000200000000000013ec00000000000003ed"
        + "ffffffffffffffffffffffffffff000000031600874000046b31047631001200fd3f02046b3201001600814004046b3304763300";

    private static JsonNode outcome(String given, String call) {
        JsonNode answer = new Conversation().say(
            "{'cmd':'step','trace':'compaction/f','at':[1],'given':" + given + ",'call':" + call + "}");
        assertTrue(answer.has("ok"), answer::toString);
        return answer.get("ok").get("outcome");
    }

    private static JsonNode rebuild(long nowMs, String batch, String retained, boolean keepHeader) {
        return outcome("{'now_ms':" + nowMs + ",'delete_retention_ms':100}", "{'rebuild':{'batch':'" + batch + "','retained':"
            + retained + ",'keep_header':" + keepHeader + ",'discardable_marker':false}}");
    }

    @Test
    void a_batch_that_keeps_a_tombstone_is_stamped_once() {
        assertEquals(STAMPED, rebuild(5000, PLAIN, "[10,11,12]", false).get("bytes").asText());
        assertEquals(STAMPED, rebuild(5050, STAMPED, "[10,11,12]", false).get("bytes").asText());
    }

    @Test
    void a_batch_of_which_nothing_stays_is_a_header_or_gone() {
        assertEquals(2 * 61, rebuild(5000, PLAIN, "[]", true).get("bytes").asText().length());
        assertEquals(json("{'gone':{}}"), rebuild(5000, PLAIN, "[]", false));
    }

    @Test
    void a_record_stays_above_the_map_and_a_tombstone_until_its_horizon() {
        String given = "{'now_ms':5100,'map':{'k':50},'mapped_to':100}";
        String call = "{'retain_record':{'offset':%d,'key':'k','tombstone':true,'horizon_ms':%s}}";
        assertEquals(json("{'retained':true}"), outcome(given, call.formatted(101, "5000")));
        assertEquals(json("{'retained':false}"), outcome(given, call.formatted(49, "null")));
        assertEquals(json("{'retained':true}"), outcome(given, call.formatted(50, "5101")));
        assertEquals(json("{'retained':false}"), outcome(given, call.formatted(50, "5100")));
    }

    @Test
    void a_round_begins_at_the_checkpoint_if_that_lies_in_the_log() {
        String given = "{'log_start':3,'log_end':9}";
        assertEquals(json("{'offset':5}"), outcome(given, "{'first_dirty_offset':{'checkpoint':5}}"));
        assertEquals(json("{'offset':3}"), outcome(given, "{'first_dirty_offset':{'checkpoint':10}}"));
        assertEquals(json("{'offset':3}"), outcome(given, "{'first_dirty_offset':{'checkpoint':null}}"));
    }

    @Test
    void a_round_ends_before_the_segment_that_holds_the_last_stable_offset() {
        assertEquals(json("{'offset':5}"),
            outcome("{'last_stable':7,'segments':[0,5,10]}", "{'round_bound':{'from':0}}"));
    }

    private static JsonNode marker(String discardable, String keepHeader, String horizonMs) {
        return outcome("{'now_ms':5100,'delete_retention_ms':100}", "{'retain_marker':{'marker':'abort','discardable':"
            + discardable + ",'keep_header':" + keepHeader + ",'horizon_ms':" + horizonMs + "}}");
    }

    @Test
    void a_marker_stays_as_long_as_its_data_then_until_its_horizon_and_then_as_a_header_that_is_needed() {
        assertEquals(json("{'marker':'kept'}"), marker("false", "false", "5000"));
        assertEquals(json("{'marker':'stamped'}"), marker("true", "false", "null"));
        assertEquals(json("{'marker':'kept'}"), marker("true", "false", "5101"));
        assertEquals(json("{'marker':'removed'}"), marker("true", "false", "5100"));
        assertEquals(json("{'marker':'emptied'}"), marker("true", "true", "5100"));
    }
}
