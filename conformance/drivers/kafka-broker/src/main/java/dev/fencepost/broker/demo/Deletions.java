package dev.fencepost.broker.demo;

import dev.fencepost.broker.Connection;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceRequestData.PartitionProduceData;
import org.apache.kafka.common.message.ProduceRequestData.TopicProduceData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;

/** The ways in which the demonstrations delete k. */
final class Deletions {
    /** The last version that names the topic. */
    private static final short PRODUCE_VERSION = 12;
    private static final int TIMEOUT_MS = 10_000;
    private static final int BATCH_BYTES = 512;
    /** Any time that has long passed. */
    private static final long HORIZON_MS = 5;

    private Deletions() {}

    /** As every producer does. */
    static MissedDeletionRun.Deletion stock(String bootstrapServers) {
        return topic -> {
            try (Producer<String, String> producer = Clients.plainProducer(bootstrapServers)) {
                producer.send(new ProducerRecord<>(topic, 0, "k", null));
            }
        };
    }

    /** In a batch of which bit 6 of the attributes is set, if so wanted; its base timestamp is then a delete horizon. */
    static MissedDeletionRun.Deletion inBatch(int port, boolean setsBit) {
        return topic -> {
            MemoryRecordsBuilder builder = new MemoryRecordsBuilder(new ByteBufferOutputStream(
                    ByteBuffer.allocate(BATCH_BYTES)), RecordBatch.MAGIC_VALUE_V2, Compression.NONE, TimestampType.CREATE_TIME,
                    0, RecordBatch.NO_TIMESTAMP, RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH,
                    RecordBatch.NO_SEQUENCE, false, false, RecordBatch.NO_PARTITION_LEADER_EPOCH, BATCH_BYTES,
                    setsBit ? HORIZON_MS : RecordBatch.NO_TIMESTAMP);
            builder.append(System.currentTimeMillis(), "k".getBytes(StandardCharsets.UTF_8), null);
            write(port, topic, builder.build());
        };
    }

    private static void write(int port, String topic, MemoryRecords records) throws Exception {
        ProduceRequestData data = new ProduceRequestData().setAcks((short) -1).setTimeoutMs(TIMEOUT_MS);
        data.topicData().add(new TopicProduceData().setName(topic).setPartitionData(List.of(
                new PartitionProduceData().setIndex(0).setRecords(records))));
        try (Connection connection = new Connection(port, "demonstration", TIMEOUT_MS)) {
            ProduceResponse answer = connection.exchange(
                    new ProduceRequest.Builder(PRODUCE_VERSION, PRODUCE_VERSION, data), PRODUCE_VERSION, ProduceResponse.class);
            answer.data().responses().forEach(found -> found.partitionResponses().forEach(partition -> {
                if (partition.errorCode() != Errors.NONE.code()) {
                    throw new IllegalStateException("the broker refused the batch: " + Errors.forCode(partition.errorCode()));
                }
            }));
        }
    }
}
