package fencepost.kafka.consumer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

/**
 * Records as a trace of consumers writes them, {@code [offset, epoch, id]} with a producer as a fourth part where they belong
 * to a transaction, and as Kafka has them: the id is the value, and the producer's name the key, since an application is not told
 * who wrote a record.
 */
final class ReadRecords {
    private static final int NO_EPOCH = -1;
    private static final short PRODUCER_EPOCH = 0;
    private static final int TIMESTAMP_PER_EPOCH = 10;
    private static final int LARGEST_BATCH = 256;

    private final List<String> producers = new ArrayList<>();

    /** The producer's id in Kafka. */
    long producerId(String name) {
        if (!producers.contains(name)) {
            producers.add(name);
        }
        return producers.indexOf(name);
    }

    /** What a leader would send: each record in a batch of its own. */
    MemoryRecords batches(JsonNode written) {
        ByteBuffer buffer = ByteBuffer.allocate(written.size() * LARGEST_BATCH);
        written.forEach(record -> buffer.put(batch(record).buffer()));
        buffer.flip();
        return MemoryRecords.readableRecords(buffer);
    }

    private MemoryRecords batch(JsonNode written) {
        long offset = written.get(0).asLong();
        int epoch = written.get(1).asInt();
        String id = written.get(2).asText();
        long timestamp = Math.max(0, TIMESTAMP_PER_EPOCH * (long) epoch + offset);
        byte[] value = id.getBytes(StandardCharsets.UTF_8);
        if (written.size() == 3) {
            return MemoryRecords.withRecords(offset, Compression.NONE, epoch, new SimpleRecord(timestamp, null, value));
        }
        String producer = written.get(3).asText();
        if (isMarker(written)) {
            ControlRecordType type = id.equals("commit") ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
            return MemoryRecords.withEndTransactionMarker(
                offset, timestamp, epoch, producerId(producer), PRODUCER_EPOCH, new EndTransactionMarker(type, 0));
        }
        return MemoryRecords.withTransactionalRecords(offset, Compression.NONE, producerId(producer), PRODUCER_EPOCH, (int) offset,
            epoch, new SimpleRecord(timestamp, producer.getBytes(StandardCharsets.UTF_8), value));
    }

    /** Whether a written record is the end of a transaction. */
    static boolean isMarker(JsonNode written) {
        return written.size() == 4 && (written.get(2).asText().equals("commit") || written.get(2).asText().equals("abort"));
    }

    /** Records that were handed to the application. */
    static ArrayNode written(Iterable<ConsumerRecord<String, String>> records) {
        ArrayNode written = JsonNodeFactory.instance.arrayNode();
        for (ConsumerRecord<String, String> record : records) {
            ArrayNode one = written.addArray().add(record.offset()).add(record.leaderEpoch().orElse(NO_EPOCH)).add(record.value());
            if (record.key() != null) {
                one.add(record.key());
            }
        }
        return written;
    }
}
