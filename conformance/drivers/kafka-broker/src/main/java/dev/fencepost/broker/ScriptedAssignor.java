package dev.fencepost.broker;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;

/**
 * A server-side assignor that answers what the last {@code target} of the trace said; a member that it did not name gets
 * nothing. The broker makes its own instances from class names ({@code group.consumer.assignors}), so the script is
 * static; there is one broker, and one trace at a time, in the process.
 *
 * <p>It is registered under both names that Kafka's own assignors have, so that a member may prefer one.
 */
public abstract class ScriptedAssignor implements ConsumerGroupPartitionAssignor {
    private static volatile Map<String, Map<Uuid, Set<Integer>>> script = Map.of();

    private final String name;

    private ScriptedAssignor(String name) {
        this.name = name;
    }

    /** What is answered from now on. */
    static void answer(Map<String, Map<Uuid, Set<Integer>>> target) {
        script = Map.copyOf(target);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public GroupAssignment assign(GroupSpec group, SubscribedTopicDescriber topics) {
        Map<String, Map<Uuid, Set<Integer>>> now = script;
        Map<String, MemberAssignment> members = new HashMap<>();
        for (String member : group.memberIds()) {
            Map<Uuid, Set<Integer>> partitions = now.getOrDefault(member, Map.of());
            members.put(member, () -> partitions);
        }
        return new GroupAssignment(members);
    }

    /** The default. */
    public static final class Uniform extends ScriptedAssignor {
        public Uniform() {
            super("uniform");
        }
    }

    /** The other one. */
    public static final class Range extends ScriptedAssignor {
        public Range() {
            super("range");
        }
    }
}
