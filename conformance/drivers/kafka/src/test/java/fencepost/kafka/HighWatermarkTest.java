package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.epoch;
import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A high watermark that rises only when the trace says so (4.3). */
class HighWatermarkTest {
    private static final String PLAIN_FETCH =
        "{'fetch':{'member':null,'epoch':-1,'partitions':['t-0'],'require_stable':false}}";

    private final Conversation group = configured("{'topics':{'t':2},'replication':'held'}");

    @BeforeEach
    void aMemberThatIsCommitted() {
        group.answer("{'target':{'a':['t-0']}}");
        group.answer("{'heartbeat':{'id':'join','member':'a','epoch':0,'owned':[]}}");
        group.step("{'replicate':{}}");
    }

    private JsonNode commit(String name, long offset) {
        return group.step(
            "{'commit':{'id':'" + name + "','member':'a','epoch':" + epoch(1) + ",'offsets':{'t-0':" + offset + "}}}").get("ok");
    }

    private JsonNode completes(String operation) {
        return group.step(operation).get("ok").path("completes");
    }

    @Test
    void a_write_is_answered_when_the_high_watermark_passes_it() {
        assertEquals(json("{}"), commit("c", 5));
        assertEquals(json("{'c':{'answer':{'committed':['t-0']}}}"), completes("{'replicate':{}}"));
    }

    @Test
    void the_high_watermark_rises_through_one_request_and_no_further() {
        commit("c1", 5);
        commit("c2", 6);
        assertEquals(json("{'c1':{'answer':{'committed':['t-0']}}}"), completes("{'replicate':{'through':'c1'}}"));
        assertEquals(json("{'t-0':5}"), group.answer(PLAIN_FETCH).get("offsets"));
        assertEquals(json("{'c2':{'answer':{'committed':['t-0']}}}"), completes("{'replicate':{}}"));
        assertEquals(json("{'t-0':6}"), group.answer(PLAIN_FETCH).get("offsets"));
    }

    @Test
    void a_plain_fetch_reads_what_is_committed_and_the_observed_state_is_the_newest() {
        commit("c", 5);
        assertEquals(json("{'t-0':null}"), group.answer(PLAIN_FETCH).get("offsets"));
        assertEquals(json("{'t-0':5}"), group.state().get("offsets"));
    }

    @Test
    void a_stable_fetch_waits_for_earlier_writes() {
        commit("c", 5);
        assertEquals(json("{}"), group.step(
            "{'fetch':{'id':'f','member':null,'epoch':-1,'partitions':['t-0'],'require_stable':true}}").get("ok"));
        assertEquals(json("{'c':{'answer':{'committed':['t-0']}},'f':{'answer':{'offsets':{'t-0':5}}}}"), completes("{'replicate':{}}"));
    }

    @Test
    void a_request_that_writes_nothing_waits_only_behind_a_write() {
        String idle = "{'heartbeat':{'id':'h','member':'a','epoch':" + epoch(1) + ",'owned':null}}";
        assertTrue(group.step(idle).get("ok").has("answer"));
        commit("c", 5);
        assertEquals(json("{}"), group.step(idle).get("ok"));
        assertTrue(completes("{'replicate':{}}").has("h"));
    }

    @Test
    void an_error_is_answered_at_once() {
        commit("c", 5);
        assertEquals("UNKNOWN_MEMBER_ID", group.error(
            "{'commit':{'id':'x','member':'z','epoch':1,'offsets':{'t-0':1}}}"));
    }

    @Test
    void a_fail_over_loses_what_was_not_committed_and_says_so() {
        commit("c1", 5);
        group.step("{'replicate':{}}");
        commit("c2", 6);
        assertEquals(json("{'c2':{'error':'NOT_COORDINATOR'}}"), completes("{'fail_over':{}}"));
        assertEquals(json("{'t-0':5}"), group.state().get("offsets"));
    }

    @Test
    void a_target_is_taken_note_of_again_where_the_heartbeat_that_did_was_lost() {
        group.answer("{'target':{'a':['t-0','t-1']}}");
        group.step("{'heartbeat':{'id':'h','member':'a','epoch':" + epoch(1) + ",'owned':null}}");
        assertEquals(2, group.groupEpoch());
        group.step("{'fail_over':{}}");
        assertEquals(1, group.groupEpoch());
        group.step("{'heartbeat':{'id':'h','member':'a','epoch':" + epoch(1) + ",'owned':null}}");
        assertEquals(2, group.groupEpoch());
        assertEquals(json("['t-0','t-1']"), completes("{'replicate':{}}").get("h").get("answer").get("assigned"));
    }

    @Test
    void so_it_is_where_a_member_left_before_it() {
        group.step("{'heartbeat':{'id':'j','member':'b','epoch':0,'owned':[]}}");
        group.step("{'replicate':{}}");
        group.answer("{'target':{'a':['t-0','t-1']}}");
        group.step("{'heartbeat':{'id':'h','member':'a','epoch':" + epoch(1) + ",'owned':null}}");
        group.step("{'fail_over':{}}");
        group.step("{'leave':{'id':'l','member':'b','epoch':-1}}");
        group.step("{'heartbeat':{'id':'h','member':'a','epoch':" + epoch(1) + ",'owned':null}}");
        assertEquals(4, group.groupEpoch());
    }

    @Test
    void what_a_timer_writes_is_committed_with_the_request_after_it() {
        group.step("{'expire':{'timer':'session','member':'a'}}");
        group.step("{'commit':{'id':'c','member':'','epoch':-1,'offsets':{'t-0':7}}}");
        group.step("{'replicate':{'through':'c'}}");
        group.step("{'fail_over':{}}");
        assertEquals(json("{'t-0':7}"), group.state().get("offsets"));
        assertEquals("empty", group.state().get("group").get("state").asText());
    }
}
