package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.OffsetCommitRequest;
import org.apache.kafka.common.requests.OffsetCommitResponse;
import org.apache.kafka.common.requests.OffsetFetchRequest;
import org.apache.kafka.common.requests.OffsetFetchResponse;

/**
 * {@code commit} and {@code fetch} as {@code OffsetCommit} and {@code OffsetFetch} requests (docs/fencing.md 3.2, 3.6), on
 * a connection that no heartbeat uses, as after a reconnect: what two connections carry is in no fixed order.
 */
final class Offsets {
    private final Connection connection;
    private final String group;
    private final TraceTopics topics;

    Offsets(Connection connection, String group, TraceTopics topics) {
        this.connection = connection;
        this.group = group;
        this.topics = topics;
    }

    Outcome commit(JsonNode operation) throws IOException {
        Map<String, OffsetCommitRequestData.OffsetCommitRequestTopic> byTopic = new LinkedHashMap<>();
        operation.path("offsets").properties().forEach(entry -> {
            TracePartition partition = TracePartition.parse(entry.getKey());
            TraceOffset offset = TraceOffset.read(entry.getValue());
            byTopic.computeIfAbsent(partition.topic(), topic -> new OffsetCommitRequestData.OffsetCommitRequestTopic()
                    .setName(topics.name(topic)).setTopicId(topics.id(topic)))
                    .partitions().add(new OffsetCommitRequestData.OffsetCommitRequestPartition()
                            .setPartitionIndex(partition.number())
                            .setCommittedOffset(offset.offset())
                            .setCommittedLeaderEpoch(offset.leaderEpoch())
                            .setCommittedMetadata(offset.metadata()));
        });
        OffsetCommitRequestData data = new OffsetCommitRequestData()
                .setGroupId(group)
                .setMemberId(operation.path("member").asText())
                .setGenerationIdOrMemberEpoch(operation.path("epoch").asInt())
                .setGroupInstanceId(Operation.instance(operation))
                .setTopics(new ArrayList<>(byTopic.values()));
        short version = Operation.version(operation, Connection.newest(ApiKeys.OFFSET_COMMIT));
        OffsetCommitResponse response = connection.exchange(
                OffsetCommitRequest.Builder.forTopicIdsOrNames(data), version, OffsetCommitResponse.class);
        PartitionResults results = new PartitionResults();
        response.data().topics().forEach(topic -> topic.partitions().forEach(partition -> results.add(
                new TracePartition(topics.traceName(topic.topicId(), topic.name()), partition.partitionIndex()),
                Errors.forCode(partition.errorCode()))));
        return results.outcome("committed");
    }

    Outcome fetch(JsonNode operation) throws IOException {
        List<OffsetFetchRequestData.OffsetFetchRequestTopics> asked = new ArrayList<>();
        TracePartition.byTopic(operation.path("partitions")).forEach((topic, numbers) -> asked.add(
                new OffsetFetchRequestData.OffsetFetchRequestTopics()
                        .setName(topics.name(topic)).setTopicId(topics.id(topic)).setPartitionIndexes(numbers)));
        OffsetFetchRequestData data = new OffsetFetchRequestData()
                .setRequireStable(operation.path("require_stable").asBoolean())
                .setGroups(List.of(new OffsetFetchRequestData.OffsetFetchRequestGroup()
                        .setGroupId(group)
                        .setMemberId(operation.hasNonNull("member") ? operation.get("member").asText() : null)
                        .setMemberEpoch(operation.path("epoch").asInt())
                        .setTopics(asked)));
        OffsetFetchResponseData.OffsetFetchResponseGroup response = connection.exchange(
                OffsetFetchRequest.Builder.forTopicIdsOrNames(data, false), OffsetFetchResponse.class)
                .data().groups().get(0);
        Errors error = Errors.forCode(response.errorCode());
        return error == Errors.NONE ? new Outcome.Done(offsets(response)) : new Outcome.Refused(error);
    }

    private ObjectNode offsets(OffsetFetchResponseData.OffsetFetchResponseGroup response) {
        TreeMap<TracePartition, JsonNode> offsets = new TreeMap<>();
        TreeMap<TracePartition, Errors> refused = new TreeMap<>();
        response.topics().forEach(topic -> topic.partitions().forEach(found -> {
            TracePartition partition =
                    new TracePartition(topics.traceName(topic.topicId(), topic.name()), found.partitionIndex());
            Errors error = Errors.forCode(found.errorCode());
            if (error != Errors.NONE) {
                refused.put(partition, error);
            } else if (found.committedOffset() == OffsetFetchResponse.INVALID_OFFSET) {
                offsets.put(partition, JsonNodeFactory.instance.nullNode());
            } else {
                offsets.put(partition, TraceOffset.of(
                        found.committedOffset(), found.committedLeaderEpoch(), found.metadata()).write());
            }
        }));
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        ObjectNode read = answer.putObject("offsets");
        offsets.forEach((partition, offset) -> read.set(partition.toString(), offset));
        PartitionResults.putRefused(answer, refused);
        return answer;
    }
}
