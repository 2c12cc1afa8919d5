package fencepost.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupCurrentMemberAssignmentKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupCurrentMemberAssignmentValue;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMemberMetadataKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMemberMetadataValue;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMetadataKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMetadataValue;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * The records of a group's log that make a member what a function trace says it is (4.1).
 *
 * <p>That is the one way into a coordinator's memory that all releases share, and it takes no step that a real
 * coordinator would not take when it loads its log.
 */
final class MemberRecords {
    private static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();
    private static final short VERSION = 0;
    private static final int FIVE_MINUTES_MS = 300_000;
    private static final int SESSION_TIMEOUT_MS = 45_000;

    private final ClusterMetadata cluster;

    MemberRecords(ClusterMetadata cluster) {
        this.cluster = cluster;
    }

    static CoordinatorRecord group(int epoch) {
        return record(
            new ConsumerGroupMetadataKey().setGroupId(Requests.GROUP), new ConsumerGroupMetadataValue().setEpoch(epoch));
    }

    static CoordinatorRecord subscription(String member, List<String> topics, boolean classic) {
        ConsumerGroupMemberMetadataValue value = new ConsumerGroupMemberMetadataValue()
            .setClientId("fencepost")
            .setClientHost("localhost")
            .setSubscribedTopicNames(topics)
            .setRebalanceTimeoutMs(FIVE_MINUTES_MS)
            // The field's default is not null, which is what says that a member does not speak the classic protocol.
            .setClassicMemberMetadata(!classic ? null : new ConsumerGroupMemberMetadataValue.ClassicMemberMetadata()
                .setSessionTimeoutMs(SESSION_TIMEOUT_MS)
                .setSupportedProtocols(List.of()));
        return record(new ConsumerGroupMemberMetadataKey().setGroupId(Requests.GROUP).setMemberId(member), value);
    }

    /** @param given the member as a function trace has it */
    CoordinatorRecord assignment(String member, JsonNode given) {
        return record(key(member), new ConsumerGroupCurrentMemberAssignmentValue()
            .setMemberEpoch(given.path("epoch").asInt())
            .setPreviousMemberEpoch(given.path("previous_epoch").asInt())
            .setState(MemberStates.value(given.path("state").asText()))
            .setAssignedPartitions(partitions(given.path("assigned")))
            .setPartitionsPendingRevocation(partitions(given.path("pending_revocation"))));
    }

    /** @param hex the value as it lies in the log, with its two bytes of version */
    static CoordinatorRecord assignment(String member, String hex) {
        byte[] key = SERDE.serializeKey(CoordinatorRecord.tombstone(key(member)));
        return SERDE.deserialize(ByteBuffer.wrap(key), ByteBuffer.wrap(HexFormat.of().parseHex(hex)));
    }

    /** The value that Kafka writes for a member, with its two bytes of version. */
    static String written(ConsumerGroupMember member) {
        return HexFormat.of().formatHex(SERDE.serializeValue(
            GroupCoordinatorRecordHelpers.newConsumerGroupCurrentAssignmentRecord(Requests.GROUP, member)));
    }

    private static ConsumerGroupCurrentMemberAssignmentKey key(String member) {
        return new ConsumerGroupCurrentMemberAssignmentKey().setGroupId(Requests.GROUP).setMemberId(member);
    }

    private List<ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions> partitions(JsonNode epochs) {
        List<String> words = new ArrayList<>();
        epochs.fieldNames().forEachRemaining(words::add);
        List<ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions> topics = new ArrayList<>();
        Requests.partitions(words).forEach((name, partitions) -> {
            var topic = new ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions()
                .setTopicId(cluster.topic(name).id())
                .setPartitions(partitions);
            KafkaRelease.setAssignmentEpochs(topic,
                partitions.stream().map(partition -> epochs.get(name + "-" + partition).asInt()).toList());
            topics.add(topic);
        });
        return topics;
    }

    private static CoordinatorRecord record(ApiMessage key, ApiMessage value) {
        return CoordinatorRecord.record(key, new ApiMessageAndVersion(value, VERSION));
    }
}
