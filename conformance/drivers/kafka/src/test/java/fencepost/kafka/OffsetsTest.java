package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.epoch;
import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Commits and fetches of offsets (3.2, 3.3, 3.6). */
class OffsetsTest {
    private final Conversation group = configured("{'topics':{'t':2},'max_size':1}");

    @BeforeEach
    void aMember() {
        group.answer("{'target':{'a':['t-0']}}");
        group.join("a");
    }

    @Test
    void leader_epoch_and_metadata_come_back_and_a_plain_offset_is_a_number() {
        String offsets = "{'t-0':{'offset':5,'leader_epoch':3,'metadata_bytes':2},'t-1':6}";
        assertEquals(json("{'committed':['t-0','t-1']}"),
            group.answer("{'commit':{'member':'a','epoch':" + epoch(1) + ",'offsets':" + offsets + "}}"));
        assertEquals(json(offsets), group.state().get("offsets"));
        assertEquals(json(offsets), group.answer(
            "{'fetch':{'member':'a','epoch':" + epoch(1) + ",'partitions':['t-0','t-1'],'require_stable':false}}").get(
                "offsets"));
    }

    @Test
    void metadata_that_is_too_long_is_refused_for_its_partition_alone() {
        assertEquals(json("{'committed':['t-0'],'refused':{'t-1':'OFFSET_METADATA_TOO_LARGE'}}"), group.answer(
            "{'commit':{'member':'a','epoch':" + epoch(1) + ",'offsets':{'t-0':5,'t-1':{'offset':6,'metadata_bytes':4097}}}}"));
    }

    @Test
    void an_old_version_of_the_request_has_no_member_epoch() {
        assertEquals("UNSUPPORTED_VERSION",
            group.error("{'commit':{'member':'a','epoch':" + epoch(1) + ",'version':8,'offsets':{'t-0':5}}}"));
    }

    @Test
    void an_administrator_may_commit_only_while_there_are_no_members() {
        String commit = "{'commit':{'member':'','epoch':-1,'offsets':{'t-0':5}}}";
        assertEquals("UNKNOWN_MEMBER_ID", group.error(commit));
        group.answer("{'leave':{'member':'a','epoch':-1}}");
        assertEquals(json("{'committed':['t-0']}"), group.answer(commit));
    }

    @Test
    void a_fetch_with_another_epoch_is_stale() {
        assertEquals("STALE_MEMBER_EPOCH", group.error(
            "{'fetch':{'member':'a','epoch':" + epoch(9) + ",'partitions':['t-0'],'require_stable':false}}"));
    }

    @Test
    void a_commit_without_a_group_depends_on_its_epoch() {
        Conversation nobody = configured("{'topics':{'t':1}}");
        assertEquals("GROUP_ID_NOT_FOUND", nobody.error("{'commit':{'member':'a','epoch':1,'offsets':{'t-0':5}}}"));
        nobody.answer("{'commit':{'member':'','epoch':-1,'offsets':{'t-0':5}}}");
        assertEquals(json("{'offsets':{'t-0':5},'staged':{}}"), nobody.state());
    }

    @Test
    void a_full_group_takes_no_other_member() {
        assertEquals("GROUP_MAX_SIZE_REACHED", group.error("{'heartbeat':{'member':'b','epoch':0,'owned':[]}}"));
    }

    @Test
    void a_partition_that_does_not_exist_is_no_matter_of_the_shard() {
        assertTrue(group.step("{'commit':{'member':'a','epoch':" + epoch(1) + ",'offsets':{'t-2':5}}}").has("skipped"));
    }
}
