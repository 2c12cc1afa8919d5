package fencepost.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;

/**
 * A test's side of the driver protocol: lines of JSON to the driver, the answers back. Single quotes stand for double
 * ones.
 */
final class Conversation {
    private static final ObjectMapper JSON = new ObjectMapper();
    static final Path LOGS = LogDirectory.create(null);

    private final DriverProtocol driver = new DriverProtocol(LOGS);
    private int step;

    /** A conversation about a new coordinator. */
    static Conversation configured(String configure) {
        Conversation conversation = new Conversation();
        conversation.say("{'cmd':'reset','trace':'test','configure':" + configure + "}");
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
        return say("{'cmd':'step','trace':'test','at':[" + step + "],'do':" + operation + ",'observe':false}");
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
        JsonNode answer = say("{'cmd':'step','trace':'test','at':[" + step + "],'observe':true}");
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
