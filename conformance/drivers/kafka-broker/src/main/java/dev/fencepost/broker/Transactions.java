package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.common.message.AddOffsetsToTxnRequestData;
import org.apache.kafka.common.message.DescribeTransactionsRequestData;
import org.apache.kafka.common.message.EndTxnRequestData;
import org.apache.kafka.common.message.EndTxnResponseData;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.message.InitProducerIdResponseData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AddOffsetsToTxnRequest;
import org.apache.kafka.common.requests.AddOffsetsToTxnResponse;
import org.apache.kafka.common.requests.DescribeTransactionsRequest;
import org.apache.kafka.common.requests.DescribeTransactionsResponse;
import org.apache.kafka.common.requests.EndTxnRequest;
import org.apache.kafka.common.requests.EndTxnResponse;
import org.apache.kafka.common.requests.InitProducerIdRequest;
import org.apache.kafka.common.requests.InitProducerIdResponse;
import org.apache.kafka.common.requests.TxnOffsetCommitRequest;
import org.apache.kafka.common.requests.TxnOffsetCommitResponse;

/**
 * {@code txn_commit} and {@code end_transaction} as real transactions (docs/fencing.md 3.4): a transactional id a producer,
 * {@code InitProducerId} before its first transaction, {@code TxnOffsetCommit}, {@code EndTxn}.
 *
 * <p>From {@code TxnOffsetCommit} 5 on, the broker adds the group to the transaction by itself (KIP-890); before, the
 * client asks for that with {@code AddOffsetsToTxn}. The marker is written after {@code EndTxn} was answered, so
 * {@code end_transaction} waits until the transaction coordinator says that the transaction is complete, which it is not
 * before the group coordinator has applied the marker.
 */
final class Transactions {
    private static final int TIMEOUT_MS = 900_000;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final short ADDS_BY_ITSELF = 5;
    private static final Set<String> ENDED = Set.of("Empty", "CompleteCommit", "CompleteAbort");

    private final Connection connection;
    private final String group;
    private final TraceTopics topics;
    private final Map<String, Producer> producers = new HashMap<>();

    Transactions(Connection connection, String group, TraceTopics topics) {
        this.connection = connection;
        this.group = group;
        this.topics = topics;
    }

    private static final class Producer {
        final String transactionalId;
        long id;
        short epoch;
        boolean open;

        Producer(String transactionalId) {
            this.transactionalId = transactionalId;
        }
    }

    Outcome commit(JsonNode operation) throws IOException {
        Producer producer = producer(operation);
        short version = Operation.version(operation, Connection.newest(ApiKeys.TXN_OFFSET_COMMIT));
        if (version < ADDS_BY_ITSELF) {
            addOffsets(producer);
        }
        Map<String, TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic> byTopic = new LinkedHashMap<>();
        operation.path("offsets").properties().forEach(entry -> {
            TracePartition partition = TracePartition.parse(entry.getKey());
            TraceOffset offset = TraceOffset.read(entry.getValue());
            byTopic.computeIfAbsent(partition.topic(), topic -> new TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic()
                    .setName(topics.name(topic)).setTopicId(topics.id(topic)))
                    .partitions().add(new TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition()
                            .setPartitionIndex(partition.number())
                            .setCommittedOffset(offset.offset())
                            .setCommittedLeaderEpoch(offset.leaderEpoch())
                            .setCommittedMetadata(offset.metadata()));
        });
        TxnOffsetCommitRequestData data = new TxnOffsetCommitRequestData()
                .setTransactionalId(producer.transactionalId)
                .setGroupId(group)
                .setProducerId(producer.id)
                .setProducerEpoch(producer.epoch)
                .setMemberId(operation.path("member").asText())
                .setGenerationIdOrMemberEpoch(operation.path("epoch").asInt())
                .setGroupInstanceId(Operation.instance(operation))
                .setTopics(new ArrayList<>(byTopic.values()));
        TxnOffsetCommitResponse response = connection.exchange(TxnOffsetCommitRequest.Builder.forTopicIdsOrNames(
                data, version >= ADDS_BY_ITSELF), version, TxnOffsetCommitResponse.class);
        producer.open = true;
        PartitionResults results = new PartitionResults();
        response.data().topics().forEach(topic -> topic.partitions().forEach(partition -> results.add(
                new TracePartition(topics.traceName(topic.topicId(), topic.name()), partition.partitionIndex()),
                Errors.forCode(partition.errorCode()))));
        return results.outcome("staged");
    }

    Outcome end(JsonNode operation) throws IOException {
        Producer producer = producer(operation);
        if (!producer.open) {
            // A marker for the group's partition needs a transaction that has the group in it.
            addOffsets(producer);
        }
        end(producer, "commit".equals(operation.path("result").asText()));
        return new Outcome.Done(JsonNodeFactory.instance.objectNode());
    }

    /** Aborts what the trace left open. */
    void abortOpen() throws IOException {
        for (Producer producer : producers.values()) {
            if (producer.open) {
                end(producer, false);
            }
        }
    }

    private Producer producer(JsonNode operation) throws IOException {
        String name = operation.path("producer").asText();
        Producer known = producers.get(name);
        if (known != null) {
            return known;
        }
        Producer producer = new Producer(group + "-producer-" + name);
        InitProducerIdRequestData data = new InitProducerIdRequestData()
                .setTransactionalId(producer.transactionalId).setTransactionTimeoutMs(TIMEOUT_MS);
        InitProducerIdResponseData response = Retrying.until(PATIENCE_NANOS, () -> connection.exchange(
                new InitProducerIdRequest.Builder(data), InitProducerIdResponse.class).data(),
                answer -> Errors.forCode(answer.errorCode()));
        producer.id = response.producerId();
        producer.epoch = response.producerEpoch();
        producers.put(name, producer);
        return producer;
    }

    private void addOffsets(Producer producer) throws IOException {
        AddOffsetsToTxnRequestData data = new AddOffsetsToTxnRequestData()
                .setTransactionalId(producer.transactionalId)
                .setProducerId(producer.id)
                .setProducerEpoch(producer.epoch)
                .setGroupId(group);
        Retrying.until(PATIENCE_NANOS, () -> connection.exchange(
                new AddOffsetsToTxnRequest.Builder(data), AddOffsetsToTxnResponse.class).data(),
                answer -> Errors.forCode(answer.errorCode()));
        producer.open = true;
    }

    private void end(Producer producer, boolean commit) throws IOException {
        EndTxnRequestData data = new EndTxnRequestData()
                .setTransactionalId(producer.transactionalId)
                .setProducerId(producer.id)
                .setProducerEpoch(producer.epoch)
                .setCommitted(commit);
        EndTxnResponseData response = Retrying.until(PATIENCE_NANOS, () -> connection.exchange(
                new EndTxnRequest.Builder(data, true), EndTxnResponse.class).data(),
                answer -> Errors.forCode(answer.errorCode()));
        // The producer goes on with a new epoch after each transaction (KIP-890).
        producer.id = response.producerId();
        producer.epoch = response.producerEpoch();
        producer.open = false;
        awaitEnd(producer.transactionalId);
    }

    private void awaitEnd(String transactionalId) throws IOException {
        DescribeTransactionsRequestData data =
                new DescribeTransactionsRequestData().setTransactionalIds(List.of(transactionalId));
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (System.nanoTime() - deadline < 0) {
            String state = connection.exchange(new DescribeTransactionsRequest.Builder(data),
                    DescribeTransactionsResponse.class).data().transactionStates().get(0).transactionState();
            if (ENDED.contains(state)) {
                return;
            }
            LockSupport.parkNanos(500_000);
        }
        throw new IllegalStateException("the transaction of " + transactionalId + " did not end");
    }
}
