package fencepost.kafka;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;

/**
 * An assignor that answers what the trace's last {@code target} said; who is not named gets nothing.
 *
 * <p>It comes under the names of Kafka's two own assignors, so that a member can change the one that it prefers. Kafka
 * makes assignors itself, by class name, so the script can't be handed to one: there is one script in the process.
 */
abstract class ScriptedAssignor implements ConsumerGroupPartitionAssignor {
    /** The default, as in a broker. */
    public static final class Uniform extends ScriptedAssignor {
        public Uniform() {
            super("uniform");
        }
    }

    public static final class Range extends ScriptedAssignor {
        public Range() {
            super("range");
        }
    }

    private record Partitions(Map<Uuid, Set<Integer>> partitions) implements MemberAssignment {
    }

    private static Function<String, Map<Uuid, Set<Integer>>> script = member -> Map.of();

    private final String name;

    private ScriptedAssignor(String name) {
        this.name = name;
    }

    /** What to answer from now on: for a member id, the partitions by topic id. */
    static void setScript(Function<String, Map<Uuid, Set<Integer>>> target) {
        script = target;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public GroupAssignment assign(GroupSpec group, SubscribedTopicDescriber topics) {
        Map<String, MemberAssignment> members = new HashMap<>();
        for (String member : group.memberIds()) {
            members.put(member, new Partitions(script.apply(member)));
        }
        return new GroupAssignment(members);
    }
}
