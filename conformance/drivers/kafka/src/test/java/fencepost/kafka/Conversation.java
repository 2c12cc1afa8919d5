package fencepost.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A test's side of the driver protocol: lines of JSON to the driver, the answers back. Single quotes stand for double
 * ones.
 */
final class Conversation {
    private static final ObjectMapper JSON = new ObjectMapper();
    static final Path LOGS = LogDirectory.create(null);
    private static final AtomicInteger CONVERSATIONS = new AtomicInteger();

    private final DriverProtocol driver;
    private final String trace;
    private int step;

    /** A conversation that has not come to a trace yet. */
    Conversation() {
        this("test", Hello.CLASSIC);
    }

    private Conversation(String trace, String groupProtocol) {
        this.trace = trace;
        driver = new DriverProtocol(LOGS.resolve("" + CONVERSATIONS.incrementAndGet()), groupProtocol);
    }

    /** A conversation about a new coordinator. */
    static Conversation configured(String configure) {
        return begun("test", configure);
    }

    /** A conversation about an empty log, at 5000 on the clock and with D = 100; {@code more} begins with a comma. */
    static Conversation ofLog(int mapEntries, int transactionProtocol, String more) {
        return begun("compaction/test", "{'now_ms':5000,'delete_retention_ms':100,'index_interval_bytes':0,'map_entries':"
            + mapEntries + ",'transaction_protocol':" + transactionProtocol + more + "}");
    }

    /** A conversation about brokers A, B and C, of which A leads epoch 1, each with the record r0; min.insync.replicas is 2. */
    static Conversation ofCluster() {
        return begun("replication/test", "{'brokers':['A','B','C'],'min_isr':2}").after(
            "{'at':['A','B','C'],'do':{'metadata':[{'leader':'A','leader_epoch':1,'isr':['A','B','C']}]}}",
            "{'at':'A','do':{'produce':{'id':'w0','records':['r0'],'acks':'all'}}}",
            "{'replicate':{'from':'A','to':['B','C']}}");
    }

    /** A conversation about a consumer of that group protocol, without a reset policy, and brokers A and B. */
    static Conversation ofConsumer(String groupProtocol) {
        return begun(new Conversation("consumer/test", groupProtocol), "{'brokers':['A','B'],'reset':'none'}");
    }

    private static Conversation begun(String trace, String configure) {
        return begun(new Conversation(trace, Hello.CLASSIC), configure);
    }

    private static Conversation begun(Conversation conversation, String configure) {
        String trace = conversation.trace;
        JsonNode answer = conversation.say("{'cmd':'reset','trace':'" + trace + "','configure':" + configure + "}");
        if (!answer.has("ok")) {
            throw new AssertionError(configure + " was answered with " + answer);
        }
        return conversation;
    }

    static JsonNode json(String text) {
        return parsed(text.replace('\'', '"'));
    }

    private static JsonNode parsed(String text) {
        try {
            return JSON.readTree(text);
        } catch (JsonProcessingException problem) {
            throw new IllegalArgumentException(problem);
        }
    }

    /** Any line at all. */
    JsonNode say(String line) {
        return parsed(driver.answer(line.replace('\'', '"')));
    }

    /** The whole answer to a step. */
    JsonNode step(String operation) {
        step++;
        return say("{'cmd':'step','trace':'" + trace + "','at':[" + step + "],'do':" + operation + ",'observe':false}");
    }

    /** The same on one of several brokers. */
    JsonNode stepAt(String broker, String operation) {
        step++;
        return say("{'cmd':'step','trace':'" + trace + "','at':[" + step + "],'broker':'" + broker + "','do':" + operation
            + ",'observe':true}");
    }

    /** A message arrives, or its sender gives it up: {@code message} is what the replayer says of it. */
    JsonNode stepAt(String broker, String operation, String message) {
        step++;
        return say("{'cmd':'step','trace':'" + trace + "','at':[" + step + "],'broker':'" + broker + "','do':" + operation
            + ",'message':" + message + ",'observe':true}");
    }

    /** Operations that must all be accepted. */
    Conversation after(String... operations) {
        for (String operation : operations) {
            answer(operation);
        }
        return this;
    }

    /** The answer of an operation that must be accepted. */
    JsonNode answer(String operation) {
        JsonNode answer = step(operation);
        if (!answer.has("ok")) {
            throw new AssertionError(operation + " was answered with " + answer);
        }
        return answer.get("ok").path("answer");
    }

    /** The error of an operation that must be refused. */
    String error(String operation) {
        JsonNode answer = step(operation);
        if (!answer.has("error")) {
            throw new AssertionError(operation + " was answered with " + answer);
        }
        return answer.get("error").asText();
    }

    JsonNode state() {
        JsonNode answer = say("{'cmd':'step','trace':'" + trace + "','at':[" + step + "],'observe':true}");
        if (!answer.has("ok")) {
            throw new AssertionError("the state was answered with " + answer);
        }
        return answer.get("ok").get("state");
    }

    /** A join that must be accepted. */
    JsonNode join(String member) {
        return answer("{'heartbeat':{'member':'" + member + "','epoch':0,'owned':[]}}");
    }

    /** A heartbeat that says nothing new and must be accepted; the epoch is written as if the first were 1. */
    JsonNode beat(String member, int epoch) {
        return answer("{'heartbeat':{'member':'" + member + "','epoch':" + epoch(epoch) + ",'owned':null}}");
    }

    /** A heartbeat that reports what the member holds. */
    JsonNode beat(String member, int epoch, String owned) {
        return answer("{'heartbeat':{'member':'" + member + "','epoch':" + epoch(epoch) + ",'owned':" + owned + "}}");
    }

    int groupEpoch() {
        return state().get("group").get("epoch").asInt() - Hello.firstEpoch() + 1;
    }

    /** {@code epoch} as this release numbers it, where the first is written as 1. */
    static int epoch(int epoch) {
        return epoch + Hello.firstEpoch() - 1;
    }
}
