package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.epoch;
import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;

/**
 * The late commit of a partition's previous owner, on each release: what public behaviour was seen to be on the released
 * classes and on a real broker (finding H1 of docs/fencing.md).
 */
class LateCommitTest {
    private final Conversation group = configured("{'topics':{'t':2}}");

    /** a gives up t-1, then t-0 as well, and the commit of t-1 that it sent in between arrives last. */
    private JsonNode lateCommit(boolean secondTarget) {
        group.answer("{'target':{'a':['t-0','t-1'],'b':[]}}");
        group.answer("{'heartbeat':{'member':'b','epoch':0,'owned':[]}}");
        group.answer("{'heartbeat':{'member':'a','epoch':0,'owned':[]}}");
        group.answer("{'heartbeat':{'member':'b','epoch':" + epoch(1) + ",'owned':null}}");
        group.answer("{'target':{'a':['t-0'],'b':['t-1']}}");
        group.answer("{'heartbeat':{'member':'a','epoch':" + epoch(2) + ",'owned':null}}");
        if (secondTarget) {
            group.answer("{'target':{'a':[],'b':['t-0','t-1']}}");
        }
        group.answer("{'heartbeat':{'member':'a','epoch':" + epoch(2) + ",'owned':['t-0']}}");
        JsonNode toB = group.answer("{'heartbeat':{'member':'b','epoch':" + epoch(2) + ",'owned':null}}");
        assertEquals(json("['t-1']"), toB.get("assigned"));
        int ofB = toB.get("epoch").asInt();
        group.answer("{'commit':{'member':'b','epoch':" + ofB + ",'offsets':{'t-1':100}}}");
        return group.step("{'commit':{'member':'a','epoch':" + epoch(2) + ",'offsets':{'t-1':50}}}");
    }

    private long stored() {
        JsonNode fetched = group.answer(
            "{'fetch':{'member':null,'epoch':-1,'partitions':['t-1'],'require_stable':false}}");
        return fetched.get("offsets").get("t-1").asLong();
    }

    @Test
    void after_a_second_revocation_the_late_commit_is_accepted_from_4_2_on() {
        JsonNode late = lateCommit(true);
        if (KafkaRelease.version().startsWith("4.1")) {
            assertEquals("STALE_MEMBER_EPOCH", late.path("error").asText());
            assertEquals(100, stored());
        } else {
            assertEquals(json("{'answer':{'committed':['t-1']}}"), late.get("ok"));
            assertEquals(50, stored());
        }
    }

    @Test
    void without_the_second_revocation_it_is_refused_everywhere() {
        assertEquals("STALE_MEMBER_EPOCH", lateCommit(false).path("error").asText());
        assertEquals(100, stored());
    }
}
