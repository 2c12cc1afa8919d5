package fencepost.kafka.compaction;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.ManualClock;
import fencepost.kafka.Reply;
import fencepost.kafka.Skipped;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.DigestException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/**
 * A function trace of the cleaner: one decision, made by the method of Kafka's that makes it.
 *
 * <p>{@code MemoryRecords#filterTo} and {@code Cleaner#shouldRetainRecord} need no log. {@code
 * LogCleanerManager#cleanableOffsets} looks at one, which is written here with the offsets that are given. For {@code
 * retain_marker} there is no method at all: see {@link RetainedMarker}.
 */
public final class CompactionFunction {
    private static final int LEADER_EPOCH = 0;

    private CompactionFunction() {
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
        JsonNode body = only.getValue();
        return Reply.of(switch (only.getKey()) {
            case "rebuild" -> rebuild(given, body);
            case "retain_record" -> retainRecord(given, body, logs);
            case "retain_marker" -> RetainedMarker.decide(given, body, logs);
            case "first_dirty_offset" -> firstDirtyOffset(given, body, logs);
            case "round_bound" -> roundBound(given, body, logs);
            default -> throw new Skipped("Kafka has no function of its own for `" + only.getKey() + "`");
        });
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

    private static ObjectNode retainRecord(JsonNode given, JsonNode call, Path logs) {
        SkimpyOffsetMap map = Replica.newMap(given.path("map").size() + 1);
        given.path("map").fields().forEachRemaining(entry -> {
            try {
                map.put(ByteBuffer.wrap(entry.getKey().getBytes(StandardCharsets.UTF_8)), entry.getValue().asLong());
            } catch (DigestException problem) {
                throw new IllegalStateException(problem);
            }
        });
        map.updateLatestOffset(given.path("mapped_to").asLong());
        MemoryRecordsBuilder batch = call.hasNonNull("horizon_ms")
            ? StorageRelease.stampedBatch(Compression.NONE, RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH,
                RecordBatch.NO_SEQUENCE, false, call.get("horizon_ms").asLong())
            : Batches.builder(Compression.NONE, RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH,
                RecordBatch.NO_SEQUENCE, false);
        batch.appendWithOffset(call.path("offset").asLong(), RecordBatch.NO_TIMESTAMP, Batches.bytes(call.path("key")),
            call.path("tombstone").asBoolean() ? null : new byte[0]);
        RecordBatch one = batch.build().firstBatch();
        long nowMs = given.path("now_ms").asLong();
        return onALog(logs, replica -> JsonNodeFactory.instance.objectNode()
            .put("retained", StorageRelease.retains(replica.cleaner(), map, one, nowMs)));
    }

    private static ObjectNode firstDirtyOffset(JsonNode given, JsonNode call, Path logs) {
        long start = given.path("log_start").asLong();
        long end = given.path("log_end").asLong();
        Optional<Long> checkpoint = call.hasNonNull("checkpoint")
            ? Optional.of(call.get("checkpoint").asLong()) : Optional.empty();
        return onALog(logs, replica -> {
            UnifiedLog log = replica.log();
            write(log, List.of(0L), end);
            log.updateHighWatermark(end);
            log.maybeIncrementLogStartOffset(start, LogStartOffsetIncrementReason.ClientRecordDeletion);
            return offset(StorageRelease.offsetsToClean(log, checkpoint, 0).firstDirtyOffset());
        });
    }

    private static ObjectNode roundBound(JsonNode given, JsonNode call, Path logs) {
        List<Long> segments = new ArrayList<>();
        given.path("segments").forEach(base -> segments.add(base.asLong()));
        long lastStable = given.path("last_stable").asLong();
        long from = call.path("from").asLong();
        long end = Math.max(segments.get(segments.size() - 1), Math.max(lastStable, from));
        return onALog(logs, replica -> {
            UnifiedLog log = replica.log();
            write(log, segments, end);
            log.updateHighWatermark(lastStable);
            return offset(StorageRelease.offsetsToClean(log, Optional.of(from), 0).firstUncleanableOffset());
        });
    }

    /** Writes segments with these base offsets, up to an end: in each a single record, its last one. */
    private static void write(UnifiedLog log, List<Long> segments, long end) throws Exception {
        log.truncateFullyAndStartAt(segments.get(0), Optional.empty());
        for (int segment = 0; segment < segments.size(); segment++) {
            boolean isActive = segment == segments.size() - 1;
            long next = isActive ? end : segments.get(segment + 1);
            if (next > segments.get(segment)) {
                log.appendAsFollower(MemoryRecords.withRecords(next - 1, Compression.NONE, LEADER_EPOCH,
                    new SimpleRecord(0, "k".getBytes(StandardCharsets.UTF_8), new byte[0])), LEADER_EPOCH);
            }
            if (!isActive) {
                log.roll();
            }
        }
    }

    private interface Question {
        ObjectNode ask(Replica replica) throws Exception;
    }

    /** Asks about a log that is there for this question alone. */
    private static ObjectNode onALog(Path logs, Question question) {
        JsonNode none = JsonNodeFactory.instance.objectNode();
        Replica replica = new Replica(logs.resolve("function"), new TopicSettings(none).config(), 1, 1, new ManualClock());
        try {
            return question.ask(replica);
        } catch (RuntimeException problem) {
            throw problem;
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        } finally {
            replica.close();
        }
    }

    private static ObjectNode offset(long offset) {
        return JsonNodeFactory.instance.objectNode().put("offset", offset);
    }
}
