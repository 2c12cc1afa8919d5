package fencepost.kafka.replication;

import com.fasterxml.jackson.databind.JsonNode;
import fencepost.kafka.Reply;
import fencepost.kafka.Skipped;
import java.nio.file.Path;
import java.util.Map;

/** A function trace of replication: one decision, made by the method of Kafka's that makes it. */
public final class ReplicationFunction {
    private ReplicationFunction() {
    }

    /**
     * Makes the decision.
     *
     * @param logs the directory below which a log is kept meanwhile
     * @return the outcome in place of an answer
     */
    public static Reply decide(JsonNode given, JsonNode call, Path logs) {
        if (!call.isObject() || call.size() != 1) {
            throw new IllegalArgumentException("a call is a map of one entry");
        }
        Map.Entry<String, JsonNode> only = call.fields().next();
        throw new Skipped("Kafka has no function of its own for `" + only.getKey() + "`");
    }
}
