package fencepost.kafka;

import static fencepost.kafka.Conversation.json;
import static fencepost.kafka.Conversation.ofConsumer;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What Kafka's consumer does with what it hears and is answered, of either group protocol. */
class ConsumerTest {
    private static final String CLASSIC = "classic";
    private static final String NEWER = "consumer";

    private Conversation consumer;
    private JsonNode answer;
    /** The names of the last request of each kind to each broker. */
    private final ObjectNode sent = (ObjectNode) json("{}");

    private void begin(String groupProtocol) {
        // In 4.1 an exception of the newer consumer is lost where the poll that would throw it is woken up, which is how a step ends.
        assumeFalse(groupProtocol.equals(NEWER) && KafkaRelease.version().startsWith("4.1."));
        consumer = ofConsumer(groupProtocol);
    }

    private JsonNode step(String operation) {
        return remember(consumer.stepAt("consumer", operation));
    }

    /** The answer of a broker to the last request of that kind that went to it. */
    private JsonNode reply(String broker, String kind, String body) {
        return reply(broker, kind, sent.path(kind + broker).asText(), body);
    }

    private JsonNode reply(String broker, String kind, String request, String body) {
        return remember(consumer.stepAt("consumer", "{'deliver':'m'}", "{'from':'" + broker + "','reply_to':'" + request
            + "','content':{'to':'consumer','" + kind + "_reply':" + body + "}}"));
    }

    private JsonNode fail(String broker, String kind) {
        return remember(consumer.stepAt("consumer", "{'fail':'m'}",
            "{'from':'consumer','label':'" + sent.path(kind + broker).asText() + "','content':{}}"));
    }

    private JsonNode remember(JsonNode line) {
        assertTrue(line.has("ok"), line::toString);
        answer = line.get("ok");
        answer.path("sends").fields().forEachRemaining(message -> message.getValue().fields().forEachRemaining(part -> {
            if (part.getValue().isObject()) {
                sent.put(part.getKey() + message.getValue().get("to").asText(), message.getKey());
            }
        }));
        return answer;
    }

    private void assertSends(String... messages) {
        assertEquals(messages.length, answer.path("sends").size(), answer::toString);
        int next = 0;
        for (JsonNode message : answer.path("sends")) {
            assertEquals(json(messages[next++]), message);
        }
    }

    private JsonNode state() {
        return answer.get("state").get("consumer");
    }

    /** The consumer fetches at 2, behind a record of epoch 1, from A, which leads epoch 1. */
    private void fetchesFromA() {
        step("{'assign':{'committed':{'offset':2,'epoch':1}}}");
        step("{'metadata':{'leader':'A','leader_epoch':1}}");
        reply("A", "offset_for_leader_epoch", "{'epoch':1,'end_offset':2}");
        assertSends("{'to':'A','fetch':{'offset':2,'current_leader_epoch':1}}");
    }

    @ParameterizedTest
    @ValueSource(strings = {CLASSIC, NEWER})
    void a_leader_that_has_as_many_records_is_believed_whatever_the_epoch_of_its_answer(String groupProtocol) {
        begin(groupProtocol);
        fetchesFromA();
        step("{'metadata':{'leader':'B','leader_epoch':4}}");
        assertSends("{'to':'B','offset_for_leader_epoch':{'epoch':1,'current_leader_epoch':4}}");
        reply("B", "offset_for_leader_epoch", "{'epoch':0,'end_offset':2}");
        assertSends("{'to':'B','fetch':{'offset':2,'current_leader_epoch':4}}");
        assertEquals("fetching", state().get("fetch_state").asText());
    }

    @ParameterizedTest
    @ValueSource(strings = {CLASSIC, NEWER})
    void a_late_answer_of_the_old_leader_is_handed_out_and_the_new_leaders_is_dropped(String groupProtocol) {
        begin(groupProtocol);
        fetchesFromA();
        step("{'metadata':{'leader':'B','leader_epoch':4}}");
        reply("B", "offset_for_leader_epoch", "{'epoch':1,'end_offset':9}");
        reply("A", "fetch", "{'records':[[2,3,'old']],'high_watermark':3}");
        assertEquals(json("[[2,3,'old']]"), answer.get("answer").get("records"));
        reply("B", "fetch", "{'records':[[2,1,'new'],[3,1,'next']],'high_watermark':9}");
        assertFalse(answer.has("answer"));
        assertSends("{'to':'B','fetch':{'offset':3,'current_leader_epoch':4}}");
    }

    @ParameterizedTest
    @ValueSource(strings = {CLASSIC, NEWER})
    void a_truncation_is_told_and_told_again_until_the_application_seeks(String groupProtocol) {
        begin(groupProtocol);
        fetchesFromA();
        step("{'metadata':{'leader':'B','leader_epoch':4}}");
        JsonNode told = json("{'log_truncation':{'offset':2,'divergent':{'epoch':1,'end_offset':1}}}");
        reply("B", "offset_for_leader_epoch", "{'epoch':1,'end_offset':1}");
        assertEquals(told, answer.get("answer").get("exception"));
        step("{'poll':{}}");
        assertSends();
        step("{'elapse':{}}");
        reply("B", "offset_for_leader_epoch", "{'epoch':1,'end_offset':1}");
        assertEquals(told, answer.get("answer").get("exception"));
        step("{'seek':{'offset':1}}");
        step("{'poll':{}}");
        assertSends("{'to':'B','fetch':{'offset':1,'current_leader_epoch':4}}");
    }

    @ParameterizedTest
    @ValueSource(strings = {CLASSIC, NEWER})
    void a_committed_epoch_is_asked_of_an_old_leader_where_the_topic_was_not_heard_of_before(String groupProtocol) {
        begin(groupProtocol);
        step("{'assign':{'committed':{'offset':3,'epoch':2}}}");
        step("{'metadata':{'leader':'A','leader_epoch':1}}");
        assertSends("{'to':'A','offset_for_leader_epoch':{'epoch':2,'current_leader_epoch':1}}");
        reply("A", "offset_for_leader_epoch", "{'epoch':-1,'end_offset':-1}");
        assertEquals(json("{'log_truncation':{'offset':3}}"), answer.get("answer").get("exception"));
    }

    @ParameterizedTest
    @ValueSource(strings = {CLASSIC, NEWER})
    void a_committed_epoch_keeps_an_old_leader_away_where_the_topic_was_heard_of(String groupProtocol) {
        begin(groupProtocol);
        step("{'metadata':{'leader':'A','leader_epoch':1}}");
        step("{'assign':{'committed':{'offset':3,'epoch':2}}}");
        step("{'poll':{}}");
        assertSends();
        step("{'metadata':{'leader':'B','leader_epoch':2}}");
        assertSends("{'to':'B','offset_for_leader_epoch':{'epoch':2,'current_leader_epoch':2}}");
    }

    @Test
    void the_classic_consumer_asks_the_leader_that_it_knew_before_a_seek_and_the_newer_one_does_not() {
        begin(CLASSIC);
        fetchesFromA();
        step("{'seek':{'offset':3,'epoch':7}}");
        step("{'poll':{}}");
        assertSends("{'to':'A','offset_for_leader_epoch':{'epoch':7,'current_leader_epoch':1}}");
        begin(NEWER);
        fetchesFromA();
        step("{'seek':{'offset':3,'epoch':7}}");
        step("{'poll':{}}");
        assertSends();
        assertEquals(json("{'fetch_state':'await_validation','offset':3,'offset_epoch':7,'leader_epoch':7}"), state());
    }

    @ParameterizedTest
    @ValueSource(strings = {CLASSIC, NEWER})
    void the_answer_to_a_request_that_has_failed_or_is_of_an_earlier_process_is_ignored(String groupProtocol) {
        begin(groupProtocol);
        fetchesFromA();
        String failed = sent.get("fetchA").asText();
        fail("A", "fetch");
        assertSends("{'to':'A','fetch':{'offset':2,'current_leader_epoch':1}}");
        String earlier = sent.get("fetchA").asText();
        reply("A", "fetch", failed, "{'records':[[2,1,'r']],'high_watermark':3}");
        assertFalse(answer.has("answer"));
        step("{'restart':{}}");
        assertEquals(json("{'fetch_state':'initializing'}"), state());
        fetchesFromA();
        reply("A", "fetch", earlier, "{'records':[[2,1,'r']],'high_watermark':3}");
        assertFalse(answer.has("answer"));
    }

    @ParameterizedTest
    @ValueSource(strings = {CLASSIC, NEWER})
    void a_commit_says_the_epoch_of_the_last_record_and_a_position_is_that_of_the_next(String groupProtocol) {
        begin(groupProtocol);
        fetchesFromA();
        reply("A", "fetch", "{'records':[[2,1,'a'],[3,1,'b']],'high_watermark':4}");
        assertEquals(json("[[2,1,'a'],[3,1,'b']]"), answer.get("answer").get("records"));
        assertSends("{'to':'A','fetch':{'offset':4,'current_leader_epoch':1}}");
        assertEquals(json("{'committed':{'offset':4,'epoch':1}}"), step("{'commit':{}}").get("answer"));
        assertEquals(json("{'position':4}"), step("{'position':{}}").get("answer"));
    }

    @ParameterizedTest
    @ValueSource(strings = {CLASSIC, NEWER})
    void a_setup_reads_from_what_it_wrote_and_leaves_nothing_under_way(String groupProtocol) {
        begin(groupProtocol);
        consumer.after("{'at':'A','do':{'lead':{'leader_epoch':1,'alone':true}}}",
            "{'at':'A','do':{'append':{'records':['r0','r1','r2']}}}", "{'at':'consumer','do':{'assign':{'committed':{'offset':0}}}}",
            "{'read':{'from':'A','up_to':2}}");
        assertEquals(json("{'fetch_state':'fetching','offset':2,'offset_epoch':1,'leader':'A','leader_epoch':1}"),
            consumer.state().get("consumer"));
        step("{'poll':{}}");
        assertSends("{'to':'A','fetch':{'offset':2,'current_leader_epoch':1}}");
    }

    @ParameterizedTest
    @ValueSource(strings = {CLASSIC, NEWER})
    void a_decision_is_the_consumers(String groupProtocol) {
        begin(groupProtocol);
        String position = "{'offset':5,'offset_epoch':3,'leader':'A','leader_epoch':4}";
        JsonNode line = consumer.say("{'cmd':'step','trace':'consumer/x','at':[1],'given':{'fetch_state':'await_validation','position':"
            + position + ",'sent':" + position + ",'reset':'earliest'},'call':{'on_validation_reply':{'epoch':3,'end_offset':4}}}");
        assertEquals(json("{'reaction':{'moves_to':{'offset':4,'epoch':3}}}"), line.path("ok").get("outcome"));
        assertTrue(consumer.say("{'cmd':'step','trace':'consumer/x','at':[1],'given':{'history':[]},'call':{'divergence':"
            + "{'offset':6,'epoch':3,'end_offset':4}}}").has("skipped"));
    }
}
