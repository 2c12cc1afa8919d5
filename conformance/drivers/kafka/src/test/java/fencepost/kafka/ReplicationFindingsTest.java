package fencepost.kafka;

import static fencepost.kafka.Conversation.json;
import static fencepost.kafka.Conversation.ofCluster;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;

/** Where a leader acknowledges what a clean election can lose: every release from 4.1 to 4.4, on its own classes. */
class ReplicationFindingsTest {
    private static final String FENCES_B = "{'broker':'B','broker_epoch':1,'fenced':true}";
    private static final String KNOWN = "{'leader':'A','leader_epoch':1,'isr':['A','C'],'partition_epoch':1}";

    private final Conversation cluster = ofCluster();
    private int fetches;

    /** A follower's fetch arrives at A. */
    private JsonNode fetch(String from, int offset) {
        fetches++;
        return cluster.stepAt("A", "{'deliver':'f" + fetches + "'}", "{'from':'" + from + "','content':{'to':'A','fetch':"
            + "{'offset':" + offset + ",'last_fetched_epoch':1,'current_leader_epoch':1}}}").get("ok");
    }

    private JsonNode produce(String id, String record) {
        return cluster.stepAt("A", "{'produce':{'id':'" + id + "','records':['" + record + "'],'acks':'all'}}").get("ok");
    }

    private JsonNode metadata(String... records) {
        return cluster.stepAt("A", "{'metadata':[" + String.join(",", records) + "]}").get("ok");
    }

    private JsonNode leader() {
        return cluster.state().get("A");
    }

    @Test
    void a_leader_re_elected_past_an_epoch_trusts_what_it_remembers_of_a_follower() {
        produce("w1", "r1");
        fetch("C", 2);
        assertEquals(1, leader().get("high_watermark").asInt());
        // C truncates to 1 under B's epoch 2, of which A hears together with its own epoch 3.
        JsonNode both = metadata("{'leader':'B','leader_epoch':2,'isr':['A','B','C']}",
            "{'leader':'A','leader_epoch':3,'isr':['A','C']}");
        assertEquals(json("{'offset':1}"), both.get("completes").get("w1"));
        assertEquals(json("{'B':1,'C':2}"), leader().get("remote"));
    }

    @Test
    void one_after_the_other_the_records_end_the_request() {
        produce("w1", "r1");
        fetch("C", 2);
        JsonNode first = metadata("{'leader':'B','leader_epoch':2,'isr':['A','B','C']}");
        assertEquals(json("{'error':'NOT_LEADER_OR_FOLLOWER'}"), first.get("completes").get("w1"));
        metadata("{'leader':'A','leader_epoch':3,'isr':['A','C']}");
        assertEquals(json("{'B':-1,'C':-1}"), leader().get("remote"));
    }

    /** A has proposed that B, which had left the in-sync set, is in it again; the controller may have accepted. */
    private void proposesB() {
        produce("w1", "r1");
        fetch("C", 2);
        JsonNode shrink = cluster.stepAt("A", "{'shrink_isr':{}}").get("ok").get("sends");
        String proposal = shrink.fieldNames().next();
        JsonNode confirmed = cluster.stepAt("A", "{'deliver':'a2'}", "{'from':'controller','reply_to':'" + proposal
            + "','content':{'to':'A','alter_partition_reply':" + KNOWN + "}}").get("ok");
        assertEquals(json("{'offset':1}"), confirmed.get("completes").get("w1"));
        JsonNode expand = fetch("B", 2).get("sends");
        assertEquals(json("{'A':1,'B':1,'C':1}"), expand.iterator().next().get("alter_partition").get("isr"));
        assertEquals(json("['A','B','C']"), leader().get("pending_isr"));
    }

    @Test
    void a_record_that_says_what_is_known_takes_the_proposal_back_so_that_a_fenced_member_is_not_waited_for() {
        proposesB();
        metadata(KNOWN, FENCES_B);
        assertTrue(leader().path("pending_isr").isMissingNode());
        produce("w2", "r2");
        assertEquals(json("{'offset':2}"), fetch("C", 3).get("completes").get("w2"));
        assertEquals(2, leader().get("remote").get("B").asInt());
    }

    @Test
    void while_the_proposal_stands_its_member_is_waited_for_fenced_or_not() {
        proposesB();
        metadata(FENCES_B);
        produce("w2", "r2");
        assertTrue(fetch("C", 3).path("completes").isMissingNode());
        assertTrue(fetch("B", 3).path("completes").has("w2"));
    }
}
