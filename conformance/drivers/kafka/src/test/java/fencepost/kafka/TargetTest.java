package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.epoch;
import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a scripted target does to the group epoch: one bump, by the next heartbeat that is accepted. */
class TargetTest {
    private final Conversation group = configured("{'topics':{'t':2}}");

    @BeforeEach
    void aMember() {
        group.answer("{'target':{'a':['t-0']}}");
        group.join("a");
    }

    @Test
    void a_join_and_the_target_that_it_computes_are_one_bump() {
        assertEquals(1, group.groupEpoch());
        assertEquals(json("{'t-0':" + (KafkaRelease.hasAssignmentEpochs() ? epoch(1) : 0) + "}"), group.state().get("a").get("assigned"));
    }

    @Test
    void a_target_alone_changes_nothing() {
        group.answer("{'target':{'a':['t-1']}}");
        assertEquals(1, group.groupEpoch());
    }

    @Test
    void the_next_heartbeat_bumps_once_and_the_one_after_it_does_not() {
        group.answer("{'target':{'a':['t-0','t-1']}}");
        assertEquals(json("['t-0','t-1']"), group.beat("a", 1).get("assigned"));
        group.beat("a", 2);
        group.beat("a", 2);
        assertEquals(2, group.groupEpoch());
    }

    @Test
    void a_second_target_before_a_heartbeat_replaces_the_first() {
        group.answer("{'target':{'a':['t-1']}}");
        group.answer("{'target':{'a':['t-0','t-1']}}");
        assertEquals(json("['t-0','t-1']"), group.beat("a", 1).get("assigned"));
        assertEquals(2, group.groupEpoch());
    }

    @Test
    void a_refused_heartbeat_does_not_take_note() {
        group.answer("{'target':{'a':['t-0','t-1']}}");
        assertEquals("FENCED_MEMBER_EPOCH", group.error(
            "{'heartbeat':{'member':'a','epoch':" + epoch(9) + ",'owned':null}}"));
        assertEquals(1, group.groupEpoch());
        group.beat("a", 1);
        assertEquals(2, group.groupEpoch());
    }

    @Test
    void a_leave_bumps_by_itself_and_leaves_the_target_to_the_next_heartbeat() {
        group.join("b");
        assertEquals(2, group.groupEpoch());
        group.answer("{'target':{'a':['t-0','t-1']}}");
        group.answer("{'leave':{'member':'b','epoch':-1}}");
        assertEquals(3, group.groupEpoch());
        group.beat("a", 1);
        assertEquals(4, group.groupEpoch());
    }

    @Test
    void so_it_does_where_a_heartbeat_was_refused_before_it() {
        group.join("b");
        group.answer("{'target':{'a':['t-0','t-1']}}");
        group.error("{'heartbeat':{'member':'a','epoch':" + epoch(9) + ",'owned':null}}");
        group.answer("{'leave':{'member':'b','epoch':-1}}");
        group.beat("a", 1);
        assertEquals(4, group.groupEpoch());
    }

    @Test
    void a_bump_for_another_reason_answers_the_last_target_again() {
        group.join("b");
        assertEquals(json("['t-0']"),
            group.answer("{'heartbeat':{'member':'a','epoch':" + epoch(1) + ",'owned':['t-0'],'topics':['t'],"
            + "'rebalance_timeout_ms':300000}}").get("assigned"));
        assertEquals(2, group.groupEpoch());
    }

    @Test
    void commits_and_fetches_do_not_notice_a_target() {
        group.answer("{'target':{'a':[]}}");
        group.answer("{'commit':{'member':'a','epoch':" + epoch(1) + ",'offsets':{'t-0':5}}}");
        assertEquals(json("{'t-0':5}"), group.answer(
            "{'fetch':{'member':'a','epoch':" + epoch(1) + ",'partitions':['t-0'],'require_stable':true}}").get(
                "offsets"));
        assertEquals(1, group.groupEpoch());
    }

    @Test
    void another_preferred_assignor_answers_the_same_target_and_bumps_from_4_4_on() {
        group.answer("{'heartbeat':{'member':'a','epoch':" + epoch(1) + ",'owned':['t-0'],'assignor':'range'}}");
        assertEquals(KafkaRelease.version().startsWith("4.4") ? 2 : 1, group.groupEpoch());
        assertEquals("stable", group.state().get("a").get("state").asText());
    }
}
