package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.epoch;
import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Members with an instance id (2.6, 2.7). */
class StaticMembersTest {
    private final Conversation group = configured("{'topics':{'t':1}}");

    @BeforeEach
    void aStaticMember() {
        group.answer("{'target':{'a':['t-0'],'a2':['t-0']}}");
        group.answer("{'heartbeat':{'member':'a','epoch':0,'owned':[],'instance':'i'}}");
    }

    @Test
    void one_that_means_to_come_back_keeps_its_partitions_with_assignment_epoch_0() {
        assertEquals(json("{'epoch':-2}"), group.answer("{'leave':{'member':'a','epoch':-2,'instance':'i'}}"));
        JsonNode state = group.state();
        assertEquals(-2, state.get("a").get("epoch").asInt());
        assertEquals(json("{'t-0':0}"), state.get("a").get("assigned"));
        assertEquals(1, group.groupEpoch());
    }

    @Test
    void it_comes_back_under_another_member_id() {
        group.answer("{'leave':{'member':'a','epoch':-2,'instance':'i'}}");
        JsonNode answer = group.answer("{'heartbeat':{'member':'a2','epoch':0,'owned':[],'instance':'i'}}");
        assertEquals(json("{'epoch':" + epoch(1) + ",'assigned':['t-0']}"), answer);
        assertFalse(group.state().has("a"));
    }

    @Test
    void while_it_is_there_its_instance_id_is_taken() {
        assertEquals("UNRELEASED_INSTANCE_ID", group.error(
            "{'heartbeat':{'member':'a2','epoch':0,'owned':[],'instance':'i'}}"));
        assertEquals("FENCED_INSTANCE_ID",
            group.error("{'heartbeat':{'member':'a2','epoch':" + epoch(1) + ",'owned':null,'instance':'i'}}"));
    }
}
