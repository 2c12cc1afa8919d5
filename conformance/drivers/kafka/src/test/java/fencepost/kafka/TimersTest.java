package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.epoch;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Timers run out when the trace says so (2.9). */
class TimersTest {
    private final Conversation group = configured("{'topics':{'t':2}}");

    @BeforeEach
    void twoMembers() {
        group.answer("{'target':{'a':['t-0','t-1'],'b':[]}}");
        group.join("a");
        group.join("b");
        group.beat("a", 1);
    }

    @Test
    void the_session_timer_removes_the_member_and_bumps() {
        group.answer("{'expire':{'timer':'session','member':'b'}}");
        assertFalse(group.state().has("b"));
        assertEquals(3, group.groupEpoch());
        assertEquals("UNKNOWN_MEMBER_ID", group.error(
            "{'heartbeat':{'member':'b','epoch':" + epoch(2) + ",'owned':null}}"));
    }

    @Test
    void the_rebalance_timer_removes_a_member_that_does_not_give_up_what_was_asked_back() {
        group.answer("{'target':{'a':['t-0'],'b':['t-1']}}");
        group.beat("a", 2);
        group.answer("{'expire':{'timer':'rebalance','member':'a'}}");
        assertFalse(group.state().has("a"));
    }

    @Test
    void a_rebalance_timer_that_is_not_armed_any_more_does_nothing() {
        group.answer("{'target':{'a':['t-0'],'b':['t-1']}}");
        group.beat("a", 2);
        group.beat("a", 2, "['t-0']");
        group.answer("{'expire':{'timer':'rebalance','member':'a'}}");
        assertTrue(group.state().has("a"));
    }
}
