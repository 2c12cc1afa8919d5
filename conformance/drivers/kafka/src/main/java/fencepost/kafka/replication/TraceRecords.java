package fencepost.kafka.replication;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** Records as a trace writes them, {@code [offset, epoch, id]}, and as Kafka has them: the id is the value. */
final class TraceRecords {
    private TraceRecords() {
    }

    /** One batch, as a producer sends it. A record's timestamp is the offset that it will get. */
    static MemoryRecords batch(JsonNode ids, long first) {
        List<SimpleRecord> records = new ArrayList<>();
        ids.forEach(id -> records.add(record(first + records.size(), id.asText())));
        return MemoryRecords.withRecords(Compression.NONE, records.toArray(SimpleRecord[]::new));
    }

    /**
     * Batches that a follower could have got for these records from a leader that is not driven.
     *
     * <p>Where they begin and end is not written. A leader's answer begins with the batch that has the offset asked for, so
     * records before that offset are in one batch with it; each other record has a batch of its own.
     */
    static MemoryRecords batches(JsonNode written, long from) {
        ByteBuffer buffer = ByteBuffer.allocate(written.size() * 128);
        List<SimpleRecord> open = new ArrayList<>();
        for (JsonNode record : written) {
            long offset = record.get(0).asLong();
            open.add(record(offset, record.get(2).asText()));
            if (offset < from) {
                continue;
            }
            long base = offset - open.size() + 1;
            buffer.put(MemoryRecords.withRecords(base, Compression.NONE, record.get(1).asInt(),
                open.toArray(SimpleRecord[]::new)).buffer());
            open.clear();
        }
        buffer.flip();
        return MemoryRecords.readableRecords(buffer);
    }

    /** A copy that no longer depends on the file from which the records were read. */
    static MemoryRecords copy(Records records) {
        ByteBuffer copy = ByteBuffer.allocate(records.sizeInBytes());
        for (RecordBatch batch : records.batches()) {
            batch.writeTo(copy);
        }
        copy.flip();
        return MemoryRecords.readableRecords(copy);
    }

    static ArrayNode written(Records records) {
        return written(records, 0);
    }

    /** The records from an offset on. */
    static ArrayNode written(Records records, long from) {
        ArrayNode written = JsonNodeFactory.instance.arrayNode();
        for (RecordBatch batch : records.batches()) {
            for (var record : batch) {
                if (record.offset() >= from) {
                    written.addArray().add(record.offset()).add(batch.partitionLeaderEpoch())
                        .add(StandardCharsets.UTF_8.decode(record.value()).toString());
                }
            }
        }
        return written;
    }

    /** A whole log. It is read from the base of a batch, which may hold records from before the log's start. */
    static ArrayNode written(UnifiedLog log) {
        long start = log.logStartOffset();
        try {
            return written(log.read(start, Integer.MAX_VALUE, FetchIsolation.LOG_END, true).records, start);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private static SimpleRecord record(long timestamp, String id) {
        return new SimpleRecord(timestamp, null, id.getBytes(StandardCharsets.UTF_8));
    }
}
