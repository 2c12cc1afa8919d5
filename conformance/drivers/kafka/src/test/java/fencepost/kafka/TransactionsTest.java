package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.epoch;
import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Offsets in a transaction (3.4, 3.6). */
class TransactionsTest {
    private final Conversation group = configured("{'topics':{'t':2}}");

    @BeforeEach
    void aMemberWithAnOpenTransaction() {
        group.answer("{'target':{'a':['t-0']}}");
        group.join("a");
        assertEquals(json("{'staged':['t-0']}"),
            group.answer("{'txn_commit':{'producer':'p','member':'a','epoch':" + epoch(1) + ",'offsets':{'t-0':7}}}"));
    }

    @Test
    void until_its_end_the_offset_is_staged_and_unstable() {
        assertEquals(json("{'p':{'t-0':7}}"), group.state().get("staged"));
        assertEquals(json("{'offsets':{'t-1':null},'refused':{'t-0':'UNSTABLE_OFFSET_COMMIT'}}"), group.answer(
            "{'fetch':{'member':'a','epoch':" + epoch(1) + ",'partitions':['t-0','t-1'],'require_stable':true}}"));
    }

    @Test
    void a_commit_marker_makes_it_the_committed_one() {
        assertEquals(json("{}"), group.answer("{'end_transaction':{'producer':'p','result':'commit'}}"));
        assertEquals(json("{'t-0':7}"), group.state().get("offsets"));
        assertEquals(json("{}"), group.state().get("staged"));
    }

    @Test
    void an_abort_marker_drops_it() {
        group.answer("{'end_transaction':{'producer':'p','result':'abort'}}");
        assertEquals(json("{}"), group.state().get("offsets"));
        assertEquals(json("{}"), group.state().get("staged"));
    }

    @Test
    void a_plain_commit_after_it_in_the_log_wins() {
        group.answer("{'commit':{'member':'a','epoch':" + epoch(1) + ",'offsets':{'t-0':3}}}");
        group.answer("{'end_transaction':{'producer':'p','result':'commit'}}");
        assertEquals(json("{'t-0':3}"), group.state().get("offsets"));
    }

    @Test
    void a_stale_epoch_has_its_own_name_from_version_6_on() {
        String commit = "{'txn_commit':{'producer':'q','member':'a','epoch':" + epoch(9) + ",'offsets':{'t-0':1}%s}}";
        assertEquals("ILLEGAL_GENERATION", group.error(commit.formatted(",'version':5")));
        assertEquals(KafkaRelease.version().startsWith("4.4") ? "STALE_MEMBER_EPOCH" : "ILLEGAL_GENERATION",
            group.error(commit.formatted("")));
    }
}
