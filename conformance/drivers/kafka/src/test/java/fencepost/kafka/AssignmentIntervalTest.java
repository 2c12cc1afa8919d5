package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.epoch;
import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A target that has to wait (KIP-1263, from 4.3 on), and finding H2, which needs it. */
class AssignmentIntervalTest {
    private final Conversation group = configured("{'topics':{'t':1,'u':1},'assignment_interval_ms':1000}");

    @BeforeEach
    void twoMembers() {
        assumeTrue(KafkaRelease.hasAssignmentInterval());
        group.answer("{'target':{'a':['t-0','u-0'],'b':[]}}");
        group.join("b");
        group.answer("{'expire':{'timer':'assignment_interval'}}");
        group.join("a");
        group.beat("b", 1);
        group.answer("{'target':{'a':['u-0'],'b':['t-0']}}");
    }

    @Test
    void within_the_interval_the_group_epoch_rises_alone() {
        group.beat("b", 2);
        JsonNode state = group.state().get("group");
        assertEquals(epoch(3), state.get("epoch").asInt());
        assertEquals(epoch(2), state.get("assignment_epoch").asInt());
        assertEquals("assigning", state.get("state").asText());
    }

    @Test
    void after_the_interval_the_next_heartbeat_computes_the_newest_target() {
        group.beat("b", 2);
        group.answer("{'expire':{'timer':'assignment_interval'}}");
        group.beat("a", 2);
        JsonNode state = group.state();
        assertEquals(epoch(3), state.get("group").get("assignment_epoch").asInt());
        assertEquals("unrevoked", state.get("a").get("state").asText());
    }

    @Test
    void the_late_commit_of_a_partition_given_up_by_unsubscribing_is_accepted() {
        group.answer("{'heartbeat':{'member':'a','epoch':" + epoch(2) + ",'owned':['t-0','u-0'],'topics':['u']}}");
        group.answer("{'heartbeat':{'member':'a','epoch':" + epoch(2) + ",'owned':['u-0'],'topics':['u']}}");
        assertEquals("stable", group.state().get("a").get("state").asText());
        group.answer("{'expire':{'timer':'assignment_interval'}}");
        assertEquals(json("['t-0']"), group.beat("b", 2).get("assigned"));
        group.answer("{'commit':{'member':'b','epoch':" + epoch(3) + ",'offsets':{'t-0':100}}}");
        group.answer("{'commit':{'member':'a','epoch':" + epoch(2) + ",'offsets':{'t-0':50}}}");
        assertEquals(json("{'t-0':50}"), group.state().get("offsets"));
    }
}
