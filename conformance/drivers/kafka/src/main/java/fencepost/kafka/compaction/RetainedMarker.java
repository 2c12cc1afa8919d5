package fencepost.kafka.compaction;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.ManualClock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Set;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/**
 * The call {@code retain_marker}: what becomes of a marker in one round of Kafka's {@code Cleaner}.
 *
 * <p>No method of Kafka's makes this decision by itself, so a log is written in which it is the one to make: data of the
 * transaction, if the round is to find some; the marker, stamped or emptied before, if it is to be; and a record after it,
 * unless its header is to be kept as the last of the log. The producer is forgotten, so that nothing is kept for it.
 */
final class RetainedMarker {
    private static final long MARKER_AT = 7;
    private static final long PRODUCER = 1000;
    private static final short EPOCH = 0;
    private static final int LEADER_EPOCH = 0;
    private static final int COORDINATOR_EPOCH = 0;
    /** Late enough for any producer to have expired. */
    private static final long MUCH_LATER_MS = 1L << 50;

    private RetainedMarker() {
    }

    static ObjectNode decide(JsonNode given, JsonNode call, Path logs) {
        ManualClock clock = new ManualClock();
        clock.set(given.path("now_ms").asLong());
        Replica replica = new Replica(logs.resolve("marker"), new TopicSettings(given).config(), 1, 1, clock);
        try {
            write(replica.log(), call);
            replica.clean().orElseThrow(() -> new IllegalStateException("the log is not worth a round"));
            return JsonNodeFactory.instance.objectNode().put("marker", fate(replica.log(), call.hasNonNull("horizon_ms")));
        } catch (RuntimeException problem) {
            throw problem;
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        } finally {
            replica.close();
        }
    }

    private static void write(UnifiedLog log, JsonNode call) throws Exception {
        log.appendAsFollower(call.path("discardable").asBoolean()
            ? MemoryRecords.withRecords(MARKER_AT - 1, Compression.NONE, LEADER_EPOCH, record("before"))
            : MemoryRecords.withTransactionalRecords(MARKER_AT - 1, Compression.NONE, PRODUCER, EPOCH, 0, LEADER_EPOCH,
                record("data")), LEADER_EPOCH);
        log.appendAsFollower(marker(call), LEADER_EPOCH);
        if (!call.path("keep_header").asBoolean()) {
            log.appendAsFollower(
                MemoryRecords.withRecords(MARKER_AT + 1, Compression.NONE, LEADER_EPOCH, record("after")), LEADER_EPOCH);
        }
        log.removeExpiredProducers(MUCH_LATER_MS);
        log.roll();
        log.updateHighWatermark(log.logEndOffset());
    }

    private static SimpleRecord record(String key) {
        return new SimpleRecord(0, key.getBytes(StandardCharsets.UTF_8), new byte[0]);
    }

    /** The marker as an earlier round left it; how, {@code MemoryRecords#filterTo} knows. */
    private static MemoryRecords marker(JsonNode call) {
        boolean emptied = !call.hasNonNull("marker");
        ControlRecordType type = call.path("marker").asText().equals("commit")
            ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
        MemoryRecords marker = MemoryRecords.withEndTransactionMarker(
            MARKER_AT, 0, LEADER_EPOCH, PRODUCER, EPOCH, new EndTransactionMarker(type, COORDINATOR_EPOCH));
        if (!emptied && !call.hasNonNull("horizon_ms")) {
            return marker;
        }
        Set<Long> left = emptied ? Set.of() : Set.of(MARKER_AT);
        return MemoryRecords.readableRecords(StorageRelease.filter(
            marker, new Rebuild(call.path("horizon_ms").asLong(), 0, left, true, true)));
    }

    private static String fate(UnifiedLog log, boolean wasStamped) {
        for (var segment : log.logSegments()) {
            for (var batch : segment.log().batches()) {
                if (batch.baseOffset() == MARKER_AT) {
                    if (!batch.iterator().hasNext()) {
                        return "emptied";
                    }
                    return batch.deleteHorizonMs().isPresent() && !wasStamped ? "stamped" : "kept";
                }
            }
        }
        return "removed";
    }
}
