package fencepost.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** One trace of one protocol, on the classes of Kafka's that it is about. */
public interface Trace extends AutoCloseable {
    /**
     * Carries out one operation.
     *
     * @param broker where; null in protocols, and traces, in which there is one place only
     * @throws Skipped where this driver, or this release of Kafka, has no such thing
     */
    Outcome step(JsonNode operation, String broker);

    /**
     * Carries out one operation.
     *
     * @param message the message that the operation is about; null where it is about none
     */
    default Outcome step(JsonNode operation, String broker, JsonNode message) {
        return step(operation, broker);
    }

    /** The whole state. */
    ObjectNode observe(String broker);

    /** Gives back what the trace took hold of; it is over. */
    @Override
    default void close() {
    }
}
