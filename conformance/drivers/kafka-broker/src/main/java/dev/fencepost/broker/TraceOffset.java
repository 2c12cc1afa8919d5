package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;

/** A committed offset as a trace writes it: a number, or a map where it has a leader epoch or metadata. */
record TraceOffset(long offset, int leaderEpoch, int metadataBytes) {
    private static final int NO_LEADER_EPOCH = -1;

    static TraceOffset read(JsonNode node) {
        if (node.isObject()) {
            return new TraceOffset(node.path("offset").asLong(), node.path("leader_epoch").asInt(NO_LEADER_EPOCH),
                    node.path("metadata_bytes").asInt(0));
        }
        return new TraceOffset(node.asLong(), NO_LEADER_EPOCH, 0);
    }

    static TraceOffset of(long offset, int leaderEpoch, String metadata) {
        int bytes = metadata == null ? 0 : metadata.getBytes(StandardCharsets.UTF_8).length;
        return new TraceOffset(offset, leaderEpoch, bytes);
    }

    /** Metadata of the right length. What it says is of no consequence. */
    String metadata() {
        return "m".repeat(metadataBytes);
    }

    JsonNode write() {
        if (leaderEpoch == NO_LEADER_EPOCH && metadataBytes == 0) {
            return JsonNodeFactory.instance.numberNode(offset);
        }
        ObjectNode node = JsonNodeFactory.instance.objectNode().put("offset", offset);
        if (leaderEpoch != NO_LEADER_EPOCH) {
            node.put("leader_epoch", leaderEpoch);
        }
        if (metadataBytes != 0) {
            node.put("metadata_bytes", metadataBytes);
        }
        return node;
    }
}
