package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.epoch;
import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the group does about other topics than those it began with. */
class TopicsTest {
    private final Conversation group = configured("{'topics':{'t':1}}");

    @BeforeEach
    void aMember() {
        group.answer("{'target':{'a':['t-0']}}");
        group.join("a");
    }

    @Test
    void a_new_partition_of_a_topic_subscribed_to_bumps_with_the_next_heartbeat() {
        group.answer("{'topics':{'t':2}}");
        assertEquals(1, group.groupEpoch());
        group.beat("a", 1);
        assertEquals(2, group.groupEpoch());
    }

    @Test
    void a_topic_that_nobody_subscribes_to_bumps_nothing() {
        group.answer("{'topics':{'t':1,'u':1}}");
        group.beat("a", 1);
        assertEquals(1, group.groupEpoch());
    }

    @Test
    void together_with_a_target_it_is_one_bump() {
        group.answer("{'topics':{'t':2}}");
        group.answer("{'target':{'a':['t-0','t-1']}}");
        assertEquals(json("['t-0','t-1']"), group.beat("a", 1).get("assigned"));
        assertEquals(2, group.groupEpoch());
    }

    @Test
    void a_topic_that_goes_takes_its_committed_offsets_along() {
        group.answer("{'commit':{'member':'a','epoch':" + epoch(1) + ",'offsets':{'t-0':5}}}");
        group.answer("{'topics':{'u':1}}");
        assertEquals(json("{}"), group.state().get("offsets"));
    }

    @Test
    void a_topic_cannot_lose_partitions() {
        group.answer("{'topics':{'t':2}}");
        assertTrue(group.step("{'topics':{'t':1}}").has("skipped"));
    }
}
