package fencepost.kafka;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.OffsetAndMetadata;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;

/**
 * The whole state of the coordinator, read from its memory: the newest, not the committed one.
 *
 * <p>Much of it has no accessor that a request could reach (pending revocations, assignment epochs, offsets that wait for
 * a transaction), so fields are read directly. Nothing is changed by that.
 */
final class Observation {
    private static final Method ASSIGNED = KafkaRelease.method(ConsumerGroupMember.class, "assignedPartitions", 0);
    private static final Method PENDING = KafkaRelease.method(ConsumerGroupMember.class, "partitionsPendingRevocation", 0);
    /** What stands for an assignment epoch in releases that have none. */
    private static final int NO_ASSIGNMENT_EPOCH = 0;

    private final ClusterMetadata cluster;

    Observation(ClusterMetadata cluster) {
        this.cluster = cluster;
    }

    /**
     * The state in the form of a trace: {@code group}, {@code offsets}, {@code staged} and the members.
     *
     * @param memberName the name that the trace has for a member id
     * @param producerName the name that the trace has for a producer id
     */
    ObjectNode of(GroupCoordinatorShard shard, Function<String, String> memberName, Function<Long, String> producerName) {
        ObjectNode state = JsonNodeFactory.instance.objectNode();
        ConsumerGroup group = consumerGroup(shard);
        if (group != null) {
            state.putObject("group")
                .put("epoch", group.groupEpoch())
                .put("assignment_epoch", group.assignmentEpoch())
                .put("state", group.stateAsString().toLowerCase(Locale.ROOT));
            group.members().forEach((id, member) -> state.set(memberName.apply(id), member(member)));
        }
        Object offsets = KafkaRelease.peek(shard, "offsetMetadataManager");
        state.set("offsets", offsets(KafkaRelease.peek(offsets, "offsets")));
        ObjectNode staged = state.putObject("staged");
        Map<?, ?> pending = (Map<?, ?>) KafkaRelease.peek(offsets, "pendingTransactionalOffsets");
        pending.forEach((producer, of) -> {
            ObjectNode waiting = offsets(of);
            if (!waiting.isEmpty()) {
                staged.set(producerName.apply((Long) producer), waiting);
            }
        });
        return state;
    }

    static boolean hasMember(GroupCoordinatorShard shard, String memberId) {
        return member(shard, memberId) != null;
    }

    /** The ids of the members; none where there is no group. */
    static Set<String> memberIds(GroupCoordinatorShard shard) {
        ConsumerGroup group = consumerGroup(shard);
        return group == null ? Set.of() : Set.copyOf(group.members().keySet());
    }

    static boolean hasConsumerGroup(GroupCoordinatorShard shard) {
        return consumerGroup(shard) != null;
    }

    /** Null where there is no such member. */
    static ConsumerGroupMember member(GroupCoordinatorShard shard, String memberId) {
        ConsumerGroup group = consumerGroup(shard);
        return group == null ? null : group.members().get(memberId);
    }

    /** Whether the partition is assigned to the member or asked back from it. */
    boolean owns(ConsumerGroupMember member, Uuid topic, int partition) {
        String name = cluster.name(topic) + "-" + partition;
        ObjectNode observed = member(member);
        return observed.get("assigned").has(name) || observed.get("pending_revocation").has(name);
    }

    /** Null where there is no group, or one of another type. */
    private static ConsumerGroup consumerGroup(GroupCoordinatorShard shard) {
        Object groups = KafkaRelease.peek(KafkaRelease.peek(shard, "groupMetadataManager"), "groups");
        return ((Map<?, ?>) groups).get(Requests.GROUP) instanceof ConsumerGroup group ? group : null;
    }

    /** The member as it is observed. */
    ObjectNode member(ConsumerGroupMember member) {
        ObjectNode state = JsonNodeFactory.instance.objectNode();
        state.put("epoch", member.memberEpoch());
        state.put("state", MemberStates.name(member.state()));
        state.set("assigned", partitions((Map<?, ?>) KafkaRelease.call(ASSIGNED, member)));
        state.set("pending_revocation", partitions((Map<?, ?>) KafkaRelease.call(PENDING, member)));
        return state;
    }

    /** By topic id, either a map from partition to assignment epoch (from 4.3 on) or a set of partitions. */
    private ObjectNode partitions(Map<?, ?> byTopic) {
        Map<String, Integer> epochs = new TreeMap<>();
        byTopic.forEach((topic, partitions) -> {
            String name = cluster.name((Uuid) topic);
            if (partitions instanceof Map<?, ?> map) {
                map.forEach((partition, epoch) -> epochs.put(name + "-" + partition, (Integer) epoch));
            } else {
                ((Collection<?>) partitions).forEach(partition -> epochs.put(name + "-" + partition, NO_ASSIGNMENT_EPOCH));
            }
        });
        ObjectNode written = JsonNodeFactory.instance.objectNode();
        epochs.forEach(written::put);
        return written;
    }

    private static ObjectNode offsets(Object offsets) {
        ObjectNode written = JsonNodeFactory.instance.objectNode();
        Map<?, ?> topics = (Map<?, ?>) ((Map<?, ?>) KafkaRelease.peek(offsets, "offsetsByGroup")).get(Requests.GROUP);
        if (topics != null) {
            topics.forEach((topic, partitions) -> ((Map<?, ?>) partitions).forEach((partition, offset) ->
                written.set(topic + "-" + partition, Offset.of((OffsetAndMetadata) offset).written())));
        }
        return written;
    }
}
