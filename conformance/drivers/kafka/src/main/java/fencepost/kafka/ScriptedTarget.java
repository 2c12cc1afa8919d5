package fencepost.kafka;

import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Uuid;

/**
 * The trace's last {@code target}: what the assignor answers, and whether the group took note of it yet.
 *
 * <p>The group takes note with a heartbeat that is accepted. That is durable only as far as the heartbeat's records are:
 * a coordinator that takes over without them has to take note again.
 */
final class ScriptedTarget {
    private Map<String, Map<Uuid, Set<Integer>>> partitions = Map.of();
    private boolean pending;
    private long notedAtOffset;

    /** What the member of that name is to have. */
    Map<Uuid, Set<Integer>> partitions(String member) {
        return partitions.getOrDefault(member, Map.of());
    }

    boolean pending() {
        return pending;
    }

    void set(Map<String, Map<Uuid, Set<Integer>>> target) {
        partitions = target;
        pending = true;
    }

    /** A heartbeat was accepted; its records end at that offset. */
    void noted(long endOffset) {
        if (pending) {
            pending = false;
            notedAtOffset = endOffset;
        }
    }

    /** What lies at that offset and above is lost. */
    void truncated(long offset) {
        if (notedAtOffset > offset) {
            pending = true;
        }
    }
}
