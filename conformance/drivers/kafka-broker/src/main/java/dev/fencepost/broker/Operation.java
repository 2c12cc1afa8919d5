package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;

/** What the operations of a trace have in common. */
final class Operation {
    private Operation() {}

    /** The version that the operation asks for, or else this one. */
    static short version(JsonNode operation, short newest) {
        return operation.hasNonNull("version") ? operation.get("version").shortValue() : newest;
    }

    /** The instance id of a static member, or null. */
    static String instance(JsonNode operation) {
        return operation.hasNonNull("instance") ? operation.get("instance").asText() : null;
    }
}
