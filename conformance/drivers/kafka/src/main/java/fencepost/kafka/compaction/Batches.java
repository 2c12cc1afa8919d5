package fencepost.kafka.compaction;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;

/** What is appended, as Kafka's own classes write it: a client's batch, a transaction's marker, bytes. */
final class Batches {
    static final int BUFFER_BYTES = 64 * 1024;
    private static final int COORDINATOR_EPOCH = 0;

    private Batches() {
    }

    /**
     * A client's batch.
     *
     * @param known what the log knows of producers; epoch and sequence follow it where the trace does not name them
     */
    static MemoryRecords append(JsonNode body, long producerId, ProducerStateManager known, long nowMs) {
        short epoch = RecordBatch.NO_PRODUCER_EPOCH;
        int sequence = RecordBatch.NO_SEQUENCE;
        if (producerId != RecordBatch.NO_PRODUCER_ID) {
            epoch = body.hasNonNull("epoch") ? (short) body.get("epoch").asInt() : epoch(known, producerId);
            sequence = body.hasNonNull("sequence") ? body.get("sequence").asInt() : sequence(known, producerId, epoch);
        }
        boolean transactional = body.path("transactional").asBoolean();
        Compression compression = Compression.of(body.path("compression").asText("none")).build();
        MemoryRecordsBuilder batch = body.hasNonNull("horizon_ms")
            ? StorageRelease.stampedBatch(
                compression, producerId, epoch, sequence, transactional, body.get("horizon_ms").asLong())
            : builder(compression, producerId, epoch, sequence, transactional);
        if (!body.path("records").isArray() || body.get("records").isEmpty()) {
            throw new IllegalArgumentException("a batch without records");
        }
        for (JsonNode added : body.get("records")) {
            batch.append(added.path("timestamp_ms").asLong(nowMs), bytes(added.path("key")), bytes(added.path("value")));
        }
        return batch.build();
    }

    /** A builder of a batch that has no delete horizon. */
    static MemoryRecordsBuilder builder(
        Compression compression, long producerId, short epoch, int sequence, boolean transactional
    ) {
        return new MemoryRecordsBuilder(ByteBuffer.allocate(BUFFER_BYTES), RecordBatch.CURRENT_MAGIC_VALUE, compression,
            TimestampType.CREATE_TIME, 0L, RecordBatch.NO_TIMESTAMP, producerId, epoch, sequence, transactional, false,
            RecordBatch.NO_PARTITION_LEADER_EPOCH, BUFFER_BYTES);
    }

    /** A marker; with transaction protocol 2 the coordinator raises the epoch before it writes one (KIP-890). */
    static MemoryRecords marker(String result, int protocol, long producerId, ProducerStateManager known, long nowMs) {
        int epoch = epoch(known, producerId) + (protocol == 2 ? 1 : 0);
        ControlRecordType type = result.equals("commit") ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
        return MemoryRecords.withEndTransactionMarker(
            nowMs, producerId, (short) epoch, new EndTransactionMarker(type, COORDINATOR_EPOCH));
    }

    static MemoryRecords ofHex(String digits) {
        return MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(digits)));
    }

    static String hex(ByteBuffer bytes) {
        byte[] copy = new byte[bytes.remaining()];
        bytes.get(copy);
        return HexFormat.of().formatHex(copy);
    }

    static String text(ByteBuffer bytes) {
        return bytes == null ? null : StandardCharsets.UTF_8.decode(bytes).toString();
    }

    static byte[] bytes(JsonNode text) {
        return text.isNull() || text.isMissingNode() ? null : text.asText().getBytes(StandardCharsets.UTF_8);
    }

    /** The newest epoch that the log knows; 0 for a producer of which it knows none. */
    private static short epoch(ProducerStateManager known, long producerId) {
        return (short) Math.max(0, known.lastEntry(producerId).map(ProducerStateEntry::producerEpoch).orElse((short) 0));
    }

    private static int sequence(ProducerStateManager known, long producerId, short epoch) {
        return known.lastEntry(producerId)
            .filter(producer -> producer.producerEpoch() == epoch)
            .map(StorageRelease::lastSequence)
            .map(last -> last == Integer.MAX_VALUE ? 0 : last + 1)
            .orElse(0);
    }
}
