package fencepost.kafka;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.message.TxnOffsetCommitResponseData;
import org.apache.kafka.common.protocol.Errors;

/** Kafka's responses as the answers of a trace. */
final class Answers {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    private static final long NO_OFFSET = -1;

    private final ClusterMetadata cluster;

    Answers(ClusterMetadata cluster) {
        this.cluster = cluster;
    }

    Reply heartbeat(ConsumerGroupHeartbeatResponseData response) {
        if (response.errorCode() != Errors.NONE.code()) {
            return Reply.of(Errors.forCode(response.errorCode()));
        }
        ObjectNode answer = JSON.objectNode().put("epoch", response.memberEpoch());
        if (response.assignment() == null) {
            return Reply.of(answer.putNull("assigned"));
        }
        TreeSet<String> assigned = new TreeSet<>();
        response.assignment().topicPartitions().forEach(topic ->
            topic.partitions().forEach(partition -> assigned.add(cluster.name(topic.topicId()) + "-" + partition)));
        answer.set("assigned", array(assigned));
        return Reply.of(answer);
    }

    Reply leave(ConsumerGroupHeartbeatResponseData response) {
        return Reply.of(JSON.objectNode().put("epoch", response.memberEpoch()));
    }

    Reply commit(OffsetCommitResponseData response) {
        Map<String, Errors> partitions = new TreeMap<>();
        response.topics().forEach(topic -> topic.partitions().forEach(partition ->
            partitions.put(topic.name() + "-" + partition.partitionIndex(), Errors.forCode(partition.errorCode()))));
        return stored("committed", partitions);
    }

    Reply txnCommit(TxnOffsetCommitResponseData response) {
        Map<String, Errors> partitions = new TreeMap<>();
        response.topics().forEach(topic -> topic.partitions().forEach(partition ->
            partitions.put(topic.name() + "-" + partition.partitionIndex(), Errors.forCode(partition.errorCode()))));
        return stored("staged", partitions);
    }

    Reply fetch(OffsetFetchResponseData.OffsetFetchResponseGroup response) {
        if (response.errorCode() != Errors.NONE.code()) {
            return Reply.of(Errors.forCode(response.errorCode()));
        }
        ObjectNode answer = JSON.objectNode();
        ObjectNode offsets = answer.putObject("offsets");
        Map<String, Errors> refused = new TreeMap<>();
        response.topics().forEach(topic -> topic.partitions().forEach(partition -> {
            String name = topic.name() + "-" + partition.partitionIndex();
            if (partition.errorCode() != Errors.NONE.code()) {
                refused.put(name, Errors.forCode(partition.errorCode()));
            } else if (partition.committedOffset() == NO_OFFSET) {
                offsets.putNull(name);
            } else {
                offsets.set(name, new Offset(
                    partition.committedOffset(), partition.committedLeaderEpoch(), partition.metadata().length()).written());
            }
        }));
        putRefused(answer, refused);
        return Reply.of(answer);
    }

    /** The answer of an operation that answers, but has nothing to say. */
    static Reply empty() {
        return Reply.of(JSON.objectNode());
    }

    static ArrayNode array(Iterable<String> words) {
        ArrayNode array = JSON.arrayNode();
        words.forEach(array::add);
        return array;
    }

    private static Reply stored(String field, Map<String, Errors> partitions) {
        ObjectNode answer = JSON.objectNode();
        ArrayNode stored = answer.putArray(field);
        Map<String, Errors> refused = new TreeMap<>();
        partitions.forEach((partition, error) -> {
            if (error == Errors.NONE) {
                stored.add(partition);
            } else {
                refused.put(partition, error);
            }
        });
        putRefused(answer, refused);
        return Reply.of(answer);
    }

    private static void putRefused(ObjectNode answer, Map<String, Errors> refused) {
        if (!refused.isEmpty()) {
            ObjectNode map = answer.putObject("refused");
            refused.forEach((partition, error) -> map.put(partition, error.name()));
        }
    }
}
