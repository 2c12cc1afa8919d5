package fencepost.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.coordinator.group.OffsetAndMetadata;

/**
 * A committed offset as a trace writes it: a number, or a map where it has a leader epoch or metadata, of which only the
 * length counts.
 *
 * @param leaderEpoch -1 where the client did not say
 */
record Offset(long offset, int leaderEpoch, int metadataBytes) {
    private static final int NO_LEADER_EPOCH = -1;

    static Offset of(JsonNode written) {
        if (written.isIntegralNumber()) {
            return new Offset(written.asLong(), NO_LEADER_EPOCH, 0);
        }
        return new Offset(
            written.path("offset").asLong(),
            written.path("leader_epoch").asInt(NO_LEADER_EPOCH),
            written.path("metadata_bytes").asInt());
    }

    static Offset of(OffsetAndMetadata stored) {
        return new Offset(stored.committedOffset, stored.leaderEpoch.orElse(NO_LEADER_EPOCH), stored.metadata.length());
    }

    String metadata() {
        return "m".repeat(metadataBytes);
    }

    JsonNode written() {
        if (leaderEpoch == NO_LEADER_EPOCH && metadataBytes == 0) {
            return JsonNodeFactory.instance.numberNode(offset);
        }
        ObjectNode map = JsonNodeFactory.instance.objectNode().put("offset", offset);
        if (leaderEpoch != NO_LEADER_EPOCH) {
            map.put("leader_epoch", leaderEpoch);
        }
        if (metadataBytes != 0) {
            map.put("metadata_bytes", metadataBytes);
        }
        return map;
    }
}
