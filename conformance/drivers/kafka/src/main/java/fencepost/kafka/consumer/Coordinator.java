package fencepost.kafka.consumer;

import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FindCoordinatorRequest;
import org.apache.kafka.common.requests.FindCoordinatorResponse;
import org.apache.kafka.common.requests.OffsetCommitRequest;
import org.apache.kafka.common.requests.OffsetCommitResponse;
import org.apache.kafka.common.requests.OffsetFetchRequest;
import org.apache.kafka.common.requests.OffsetFetchResponse;

/** The group's coordinator: it keeps one committed offset, and answers at once. */
final class Coordinator {
    private static final int NO_EPOCH = -1;
    private static final long NO_OFFSET = -1;

    /** An offset, and the epoch of the record before it where it is known. */
    record Committed(long offset, Optional<Integer> epoch) {
    }

    private final Node node;
    private Optional<Committed> committed = Optional.empty();

    Coordinator(Node node) {
        this.node = node;
    }

    void setCommitted(Optional<Committed> offset) {
        committed = offset;
    }

    Optional<Committed> committed() {
        return committed;
    }

    /** The answer; nothing where the request is not a coordinator's. */
    Optional<AbstractResponse> answer(AbstractRequest request) {
        if (request instanceof FindCoordinatorRequest find) {
            return Optional.of(found(find));
        }
        if (request instanceof OffsetFetchRequest fetch) {
            return Optional.of(fetched(fetch));
        }
        if (request instanceof OffsetCommitRequest commit) {
            return Optional.of(commit(commit));
        }
        return Optional.empty();
    }

    private FindCoordinatorResponse found(FindCoordinatorRequest request) {
        FindCoordinatorResponseData data = new FindCoordinatorResponseData();
        for (String key : request.data().coordinatorKeys()) {
            data.coordinators().add(new FindCoordinatorResponseData.Coordinator()
                .setKey(key).setNodeId(node.id()).setHost(node.host()).setPort(node.port()));
        }
        return new FindCoordinatorResponse(data);
    }

    private OffsetFetchResponse fetched(OffsetFetchRequest request) {
        OffsetFetchResponseData data = new OffsetFetchResponseData();
        for (OffsetFetchRequestData.OffsetFetchRequestGroup group : request.data().groups()) {
            var answered = new OffsetFetchResponseData.OffsetFetchResponseGroup().setGroupId(group.groupId());
            for (var topic : group.topics()) {
                var partition = new OffsetFetchResponseData.OffsetFetchResponsePartitions().setPartitionIndex(0)
                    .setMetadata("")
                    .setCommittedOffset(committed.map(Committed::offset).orElse(NO_OFFSET))
                    .setCommittedLeaderEpoch(committed.flatMap(Committed::epoch).orElse(NO_EPOCH));
                answered.topics().add(new OffsetFetchResponseData.OffsetFetchResponseTopics()
                    .setName(topic.name()).setTopicId(topic.topicId()).setPartitions(List.of(partition)));
            }
            data.groups().add(answered);
        }
        return new OffsetFetchResponse(data, request.version());
    }

    private OffsetCommitResponse commit(OffsetCommitRequest request) {
        OffsetCommitResponseData data = new OffsetCommitResponseData();
        for (OffsetCommitRequestData.OffsetCommitRequestTopic topic : request.data().topics()) {
            var partition = topic.partitions().get(0);
            int epoch = partition.committedLeaderEpoch();
            committed = Optional.of(new Committed(
                partition.committedOffset(), epoch == NO_EPOCH ? Optional.empty() : Optional.of(epoch)));
            data.topics().add(new OffsetCommitResponseData.OffsetCommitResponseTopic()
                .setName(topic.name()).setTopicId(topic.topicId())
                .setPartitions(List.of(new OffsetCommitResponseData.OffsetCommitResponsePartition().setPartitionIndex(0))));
        }
        return new OffsetCommitResponse(data);
    }
}
