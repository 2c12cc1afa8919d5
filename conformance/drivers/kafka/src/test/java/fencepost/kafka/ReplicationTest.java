package fencepost.kafka;

import static fencepost.kafka.Conversation.json;
import static fencepost.kafka.Conversation.ofCluster;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How messages, processes and disks of a trace of replication meet Kafka's brokers. */
class ReplicationTest {
    private static final String POLL = "{'poll':{}}";
    private static final String LEADS_2 = "{'metadata':[{'leader':'B','leader_epoch':2,'isr':['A','B','C']}]}";

    private Conversation cluster;

    @BeforeEach
    void threeBrokers() {
        cluster = ofCluster();
    }

    /** The one message of an answer: its name, and what it says. */
    private record Sent(String label, JsonNode content) {
        static Sent of(JsonNode answer) {
            JsonNode sends = answer.path("ok").path("sends");
            assertEquals(1, sends.size(), () -> "sent: " + answer);
            var only = sends.fields().next();
            return new Sent(only.getKey(), only.getValue());
        }
    }

    private JsonNode deliver(String name, String from, String to, Sent message, Sent request) {
        return cluster.stepAt(to, "{'deliver':'" + name + "'}", line(from, message, request));
    }

    private static String line(String from, Sent message, Sent request) {
        ObjectNode line = (ObjectNode) json("{'from':'" + from + "'}");
        if (message.label() != null) {
            line.put("label", message.label());
        }
        if (request != null) {
            line.put("reply_to", request.label());
        }
        return line.set("content", message.content()).toString();
    }

    private static Sent recorded(String content) {
        return new Sent(null, json(content));
    }

    private JsonNode state(String broker) {
        return cluster.state().get(broker);
    }

    private static void assertNothing(JsonNode answer) {
        assertTrue(answer.has("ok") && !answer.get("ok").has("sends") && !answer.get("ok").has("completes"), answer::toString);
    }

    @Test
    void a_fetch_with_nothing_to_send_waits_and_is_completed_under_the_traces_name() {
        Sent fetch = Sent.of(cluster.stepAt("C", POLL));
        assertEquals(json("{'to':'A','fetch':{'offset':1,'last_fetched_epoch':1,'current_leader_epoch':1}}"), fetch.content());
        assertNothing(deliver("f1", "C", "A", fetch, null));
        JsonNode produced = cluster.stepAt("A", "{'produce':{'id':'w1','records':['r1'],'acks':'all'}}");
        JsonNode reply = json("{'to':'C','fetch_reply':{'records':[[1,1,'r1']],'high_watermark':1}}");
        assertEquals(reply, produced.get("ok").get("completes").get("f1"));
        Sent next = Sent.of(deliver("f1", "A", "C", new Sent(null, reply), fetch));
        assertEquals(2, next.content().get("fetch").get("offset").asInt());
        assertNothing(deliver("f2", "C", "A", next, null));
        assertEquals(json("{'B':1,'C':2}"), state("A").get("remote"));
        JsonNode expired = cluster.stepAt("A", "{'expire':'w1'}");
        assertEquals(json("{'w1':{'error':'REQUEST_TIMED_OUT'}}"), expired.get("ok").get("completes"));
    }

    @Test
    void a_batch_is_kept_whole_where_both_brokers_are_driven() {
        cluster.stepAt("A", "{'produce':{'id':'w1','records':['r1','r2'],'acks':'leader'}}");
        Sent fetch = Sent.of(cluster.stepAt("C", POLL));
        Sent reply = Sent.of(deliver("f1", "C", "A", fetch, null));
        deliver("f2", "A", "C", reply, fetch);
        cluster.stepAt("C", "{'crash':{}}");
        cluster.stepAt("C", "{'start':{'keep':2}}");
        assertEquals(json("[[0,1,'r0']]"), state("C").get("log"));
    }

    @Test
    void records_of_a_leader_that_is_not_driven_have_a_batch_each() {
        Sent fetch = Sent.of(cluster.stepAt("C", POLL));
        Sent reply = recorded("{'to':'C','fetch_reply':{'records':[[1,1,'r1'],[2,1,'r2']],'high_watermark':1}}");
        deliver("f2", "A", "C", reply, fetch);
        cluster.stepAt("C", "{'crash':{}}");
        cluster.stepAt("C", "{'start':{'keep':2}}");
        assertEquals(json("[[0,1,'r0'],[1,1,'r1']]"), state("C").get("log"));
    }

    @Test
    void the_answer_to_a_request_that_was_given_up_is_ignored() {
        cluster.stepAt("A", "{'produce':{'id':'w1','records':['r1'],'acks':'leader'}}");
        Sent fetch = Sent.of(cluster.stepAt("C", POLL));
        Sent reply = Sent.of(deliver("f1", "C", "A", fetch, null));
        assertNothing(cluster.stepAt("C", "{'fail':'f1'}", line("C", fetch, null)));
        assertNothing(deliver("f2", "A", "C", reply, fetch));
        Sent again = Sent.of(cluster.stepAt("C", POLL));
        assertEquals(fetch.content(), again.content());
        assertNothing(deliver("f2", "A", "C", reply, fetch));
        assertEquals(json("[[0,1,'r0']]"), state("C").get("log"));
    }

    @Test
    void a_follower_asks_another_leader_while_its_old_one_has_not_answered() {
        Sent old = Sent.of(cluster.stepAt("C", POLL));
        Sent fetch = Sent.of(cluster.stepAt("C", LEADS_2));
        assertEquals("B", fetch.content().get("to").asText());
        Sent late = recorded("{'to':'C','fetch_reply':{'records':[[1,1,'r1']],'high_watermark':1}}");
        assertNothing(deliver("f2", "A", "C", late, old));
        assertEquals(json("[[0,1,'r0']]"), state("C").get("log"));
    }

    @Test
    void after_out_of_range_the_leader_is_asked_for_its_ends_and_no_metadata_gets_through() {
        Sent fetch = Sent.of(cluster.stepAt("C", POLL));
        Sent refused = recorded("{'to':'C','fetch_reply':{'error':'OFFSET_OUT_OF_RANGE'}}");
        Sent latest = Sent.of(deliver("f2", "A", "C", refused, fetch));
        assertEquals(json("{'to':'A','list_offsets':{'timestamp':'latest','current_leader_epoch':1}}"), latest.content());
        assertTrue(cluster.stepAt("C", LEADS_2).has("skipped"));
        Sent end = recorded("{'to':'C','list_offsets_reply':{'offset':7}}");
        Sent earliest = Sent.of(deliver("l2", "A", "C", end, latest));
        assertEquals("earliest", earliest.content().get("list_offsets").get("timestamp").asText());
        Sent start = recorded("{'to':'C','list_offsets_reply':{'offset':5}}");
        assertEquals(5, Sent.of(deliver("l4", "A", "C", start, earliest)).content().get("fetch").get("offset").asInt());
        assertEquals(5, state("C").get("log_start").asInt());
    }

    @Test
    void a_proposal_is_answered_once_and_sent_again_where_it_was_lost() {
        cluster.stepAt("A", "{'produce':{'id':'w1','records':['r1'],'acks':'leader'}}");
        Sent proposal = Sent.of(cluster.stepAt("A", "{'shrink_isr':{}}"));
        assertEquals(json("{'to':'controller','alter_partition':{'leader_epoch':1,'partition_epoch':0,'isr':{'A':1}}}"),
            proposal.content());
        assertEquals(json("['A']"), state("A").get("pending_isr"));
        Sent again = Sent.of(cluster.stepAt("A", "{'fail':'a1'}", line("A", proposal, null)));
        assertEquals(proposal.content(), again.content());
        Sent reply = recorded(
            "{'to':'A','alter_partition_reply':{'leader':'A','leader_epoch':1,'isr':['A'],'partition_epoch':1}}");
        assertNothing(deliver("a2", "controller", "A", reply, proposal));
        assertTrue(state("A").has("pending_isr"));
        assertNothing(deliver("a4", "controller", "A", reply, again));
        assertEquals(json("['A']"), state("A").get("isr"));
        assertFalse(state("A").has("pending_isr"));
    }

    @Test
    void a_crash_forgets_what_the_process_knew_and_keeps_what_it_wrote() {
        cluster.stepAt("A", "{'produce':{'id':'w1','records':['r1'],'acks':'all'}}");
        assertTrue(cluster.stepAt("A", "{'crash':{}}").get("ok").get("state").get("A").isNull());
        cluster.stepAt("A", "{'start':{'broker_epoch':2}}");
        assertEquals(json("{'role':'none','leader_epoch':-1,'log':[[0,1,'r0'],[1,1,'r1']],'high_watermark':0,"
            + "'epochs':[[1,0]],'log_end':2,'log_start':0,'partition_epoch':-1,'failed':false}"), state("A"));
        cluster.stepAt("A", "{'metadata':[{'leader':'A','leader_epoch':2,'isr':['A'],'partition_epoch':3}]}");
        assertEquals(3, state("A").get("partition_epoch").asInt());
        assertEquals(json("[[1,0],[2,2]]"), state("A").get("epochs"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"missing|[]", "empty|[]", "without_newest|[[1,0]]", "without_oldest|[[2,1]]"})
    void a_stop_writes_the_high_watermark_and_a_damaged_checkpoint_is_found_as_it_is(String how, String epochs) {
        cluster.stepAt("B", LEADS_2);
        cluster.stepAt("B", "{'produce':{'id':'w1','records':['s1'],'acks':'leader'}}");
        cluster.stepAt("B", "{'stop':{}}");
        cluster.stepAt("B", "{'start':{}}");
        assertEquals(json("[[1,0],[2,1]]"), state("B").get("epochs"));
        cluster.stepAt("B", "{'stop':{}}");
        cluster.stepAt("B", "{'start':{'epoch_checkpoint':'" + how + "'}}");
        assertEquals(json(epochs), state("B").get("epochs"));
        assertEquals(1, state("B").get("high_watermark").asInt());
    }

    @Test
    void a_cut_below_the_high_watermark_is_shown() {
        Sent fetch = Sent.of(cluster.stepAt("C", LEADS_2));
        Sent diverging = recorded("{'to':'C','fetch_reply':{'diverging':{'epoch':1,'end_offset':0},'high_watermark':0}}");
        assertEquals(json("{'truncated_below_high_watermark':[{'to':0,'high_watermark':1}]}"),
            deliver("f2", "B", "C", diverging, fetch).get("ok").get("answer"));
    }

    @Test
    void a_log_is_shown_from_its_start_also_inside_a_batch() {
        cluster.stepAt("A", "{'produce':{'id':'w1','records':['r1','r2'],'acks':'leader'}}");
        for (String follower : new String[] {"B", "C"}) {
            cluster.stepAt("A", "{'deliver':'f-" + follower + "'}", "{'from':'" + follower
                + "','content':{'to':'A','fetch':{'offset':3,'last_fetched_epoch':1,'current_leader_epoch':1}}}");
        }
        cluster.stepAt("A", "{'delete_records':2}");
        assertEquals(2, state("A").get("log_start").asInt());
        assertEquals(json("[[2,1,'r2']]"), state("A").get("log"));
    }

    @Test
    void what_a_driver_can_not_do_is_skipped() {
        assertTrue(cluster.stepAt("A", "{'alter_log_dirs':{}}").has("skipped"));
        JsonNode decision = cluster.say("{'cmd':'step','trace':'replication/x','at':[1],'given':{},"
            + "'call':{'offset_for_leader_epoch_version':{'inter_broker_protocol':'2.0-IV0'}}}");
        assertTrue(decision.has("skipped"));
    }

    @Test
    void a_decision_is_made_by_the_leader_the_follower_or_the_controller() {
        assertEquals(json("{'outcome':{'truncation':{'offset':4,'finished':false}}}"), decide(
            "{'epochs':[[0,0],[1,2],[3,4]],'log_end':6}", "{'truncation_target':{'fetch_offset':1,'epoch':2,'end_offset':5}}")
            .path("ok"));
        assertEquals("FENCED_LEADER_EPOCH", decide("{'role':'leader','leader_epoch':5}",
            "{'check_leader_epoch':{'current_leader_epoch':4,'leader_required':true}}").path("error").asText());
        assertEquals(json("{'outcome':{'partition':{'leader':'B','leader_epoch':8,'partition_epoch':4,'isr':['A','B']}}}"), decide(
            "{'replicas':['A','B'],'partition':{'leader':'A','leader_epoch':7,'partition_epoch':3,'isr':['A','B']},"
                + "'brokers':{'A':{'broker_epoch':1,'fenced':true},'B':{'broker_epoch':1}}}", "{'elect':{'kind':'any'}}")
            .path("ok"));
    }

    private JsonNode decide(String given, String call) {
        return cluster.say("{'cmd':'step','trace':'replication/x','at':[1],'given':" + given + ",'call':" + call + "}");
    }
}
