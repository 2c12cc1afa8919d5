package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.epoch;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;

/** A coordinator that takes over knows what the log's bytes say. */
class FailOverTest {
    private final Conversation group = configured("{'topics':{'t':2}}");

    @Test
    void the_state_after_a_fail_over_is_the_state_before_it() {
        group.answer("{'target':{'a':['t-0','t-1'],'b':[]}}");
        group.join("a");
        group.join("b");
        group.beat("a", 1);
        group.answer("{'target':{'a':['t-0'],'b':['t-1']}}");
        group.beat("b", 2);
        group.beat("a", 2);
        group.answer("{'commit':{'member':'a','epoch':" + epoch(2) + ",'offsets':{'t-0':{'offset':9,'leader_epoch':4,'metadata_bytes':3}}}}");
        group.answer("{'txn_commit':{'producer':'p','member':'a','epoch':" + epoch(2) + ",'offsets':{'t-1':8}}}");
        JsonNode before = group.state();
        assertEquals("unrevoked", before.get("a").get("state").asText());
        assertEquals("unreleased", before.get("b").get("state").asText());
        assertEquals(8, before.get("staged").get("p").get("t-1").asInt());

        group.answer("{'fail_over':{}}");

        assertEquals(before, group.state());
    }

    @Test
    void timers_are_armed_again() {
        group.join("a");
        group.answer("{'fail_over':{}}");
        group.answer("{'expire':{'timer':'session','member':'a'}}");
        assertEquals("empty", group.state().get("group").get("state").asText());
    }

    @Test
    void a_heartbeat_after_it_bumps_nothing() {
        group.answer("{'target':{'a':['t-0']}}");
        group.join("a");
        group.answer("{'fail_over':{}}");
        group.beat("a", 1);
        assertEquals(1, group.groupEpoch());
    }

    @Test
    void a_target_set_before_it_is_computed_after_it() {
        group.join("a");
        group.answer("{'target':{'a':['t-0']}}");
        group.answer("{'fail_over':{}}");
        group.beat("a", 1);
        assertEquals(2, group.groupEpoch());
        assertTrue(group.state().get("a").get("assigned").has("t-0"));
    }

    @Test
    void a_broker_of_another_release_cannot_take_over() {
        assertTrue(group.step("{'fail_over':{'variant':'kafka-4.2'}}").has("skipped"));
    }
}
