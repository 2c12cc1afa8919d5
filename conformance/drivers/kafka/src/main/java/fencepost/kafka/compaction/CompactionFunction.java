package fencepost.kafka.compaction;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.Reply;
import fencepost.kafka.Skipped;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** A function trace of the cleaner: one decision, made by the code of Kafka's that makes it, where that can be called. */
public final class CompactionFunction {
    private CompactionFunction() {
    }

    /**
     * Makes the decision.
     *
     * @return the outcome in place of an answer
     */
    public static Reply decide(JsonNode given, JsonNode call) {
        if (!call.isObject() || call.size() != 1) {
            throw new IllegalArgumentException("a call is a map of one entry");
        }
        Map.Entry<String, JsonNode> only = call.fields().next();
        if (!only.getKey().equals("rebuild")) {
            throw new Skipped("Kafka has no function of its own for `" + only.getKey() + "`");
        }
        return Reply.of(rebuild(given, only.getValue()));
    }

    private static ObjectNode rebuild(JsonNode given, JsonNode call) {
        Set<Long> retained = new HashSet<>();
        call.path("retained").forEach(offset -> retained.add(offset.asLong()));
        ByteBuffer written = StorageRelease.filter(Batches.ofHex(call.path("batch").asText()), new Rebuild(
            given.path("now_ms").asLong(), given.path("delete_retention_ms").asLong(), retained,
            call.path("keep_header").asBoolean(), call.path("discardable_marker").asBoolean()));
        ObjectNode outcome = JsonNodeFactory.instance.objectNode();
        if (written.hasRemaining()) {
            outcome.put("bytes", Batches.hex(written));
        } else {
            outcome.putObject("gone");
        }
        return outcome;
    }
}
