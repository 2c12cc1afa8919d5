package org.apache.kafka.controller;

import com.fasterxml.jackson.databind.JsonNode;
import fencepost.kafka.Reply;

/** TODO */
public final class ControllerDecision {
    public static Reply alterPartition(JsonNode given, JsonNode body) {
        throw new fencepost.kafka.Skipped("not yet");
    }

    public static Reply elect(JsonNode given, JsonNode body) {
        throw new fencepost.kafka.Skipped("not yet");
    }
}
