package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.epoch;
import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Members of the classic protocol in a group of the consumer protocol (2.11). */
class ClassicMembersTest {
    private final Conversation group = configured("{'topics':{'t':2}}");

    @BeforeEach
    void oneOfEach() {
        group.answer("{'target':{'a':['t-0']}}");
        group.join("a");
        assertEquals(json("{'generation':" + epoch(2) + "}"), group.answer("{'join_group':{'member':'c','owned':[]}}"));
    }

    private String sync(int generation) {
        return "{'sync_group':{'member':'c','generation':" + epoch(generation) + "}}";
    }

    private String heartbeat(int generation) {
        return "{'classic_heartbeat':{'member':'c','generation':" + epoch(generation) + "}}";
    }

    @Test
    void its_generation_is_its_member_epoch() {
        assertEquals(epoch(2), group.state().get("c").get("epoch").asInt());
        assertEquals("ILLEGAL_GENERATION", group.error(sync(1)));
        assertEquals("ILLEGAL_GENERATION", group.error(heartbeat(1)));
        assertEquals(json("{'assigned':[]}"), group.answer(sync(2)));
        assertEquals(json("{}"), group.answer(heartbeat(2)));
    }

    @Test
    void it_is_told_to_join_again_when_the_target_moves_on() {
        group.answer(sync(2));
        group.answer("{'target':{'a':['t-0'],'c':['t-1']}}");
        group.beat("a", 1);
        assertEquals("REBALANCE_IN_PROGRESS", group.error(heartbeat(2)));
        assertEquals(json("{'generation':" + epoch(3) + "}"), group.answer("{'join_group':{'member':'c','owned':[]}}"));
        assertEquals(json("{'assigned':['t-1']}"), group.answer(sync(3)));
        assertEquals(json("{'committed':['t-1']}"),
            group.answer("{'commit':{'member':'c','epoch':" + epoch(3) + ",'offsets':{'t-1':5}}}"));
        assertEquals("ILLEGAL_GENERATION",
            group.error("{'commit':{'member':'c','epoch':" + epoch(9) + ",'offsets':{'t-1':5}}}"));
    }

    @Test
    void its_sync_timer_removes_it() {
        group.answer("{'expire':{'timer':'sync','member':'c'}}");
        assertFalse(group.state().has("c"));
    }

    @Test
    void once_it_has_synced_that_timer_is_not_armed_any_more() {
        group.answer(sync(2));
        group.answer("{'expire':{'timer':'sync','member':'c'}}");
        assertTrue(group.state().has("c"));
    }

    @Test
    void its_join_timer_removes_it() {
        group.answer(sync(2));
        group.answer("{'target':{'a':['t-0'],'c':['t-1']}}");
        group.beat("a", 1);
        group.step(heartbeat(2));
        group.answer("{'expire':{'timer':'join','member':'c'}}");
        assertFalse(group.state().has("c"));
    }

    @Test
    void a_static_one_is_in_the_target_under_its_name_before_it_is_given_an_id() {
        group.answer("{'target':{'s':['t-1']}}");
        assertEquals(json("{'generation':" + epoch(3) + "}"),
            group.answer("{'join_group':{'member':'s','owned':[],'instance':'i'}}"));
        assertEquals(json("{'assigned':['t-1']}"),
            group.answer("{'sync_group':{'member':'s','generation':" + epoch(3) + ",'instance':'i'}}"));
        assertTrue(group.state().get("s").get("assigned").has("t-1"));
    }

    @Test
    void without_a_group_of_the_consumer_protocol_there_is_none_to_join() {
        assertTrue(configured("{'topics':{'t':1}}").step("{'join_group':{'member':'c','owned':[]}}").has("skipped"));
    }
}
