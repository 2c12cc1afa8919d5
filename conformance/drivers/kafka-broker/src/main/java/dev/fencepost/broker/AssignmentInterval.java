package dev.fencepost.broker;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.coordinator.group.GroupConfig;

/**
 * The one timer that is honest on a real broker: the interval before which a group's target is not computed again
 * (docs/fencing.md 2.4 row 4). It is set for the group alone, and it runs out because time passes.
 *
 * <p>The broker's clock starts when it computes a target, which is somewhere between the sending of a heartbeat and its
 * answer. So after {@code expire} the interval has passed since the latest answer, and a heartbeat that the trace puts
 * within the interval is only sent while the interval since the earliest sending has not passed. If the machine was too
 * slow for that, the step is skipped: the answer would tell about the machine.
 */
final class AssignmentInterval {
    /** What a trace writes is milliseconds of nobody's clock. On this one there has to be time for some steps. */
    private static final long LEAST_MS = 3_000;

    private final long intervalNanos;
    private boolean running;
    private long earliest;
    private long latest;

    AssignmentInterval(long ms) {
        this.intervalNanos = TimeUnit.MILLISECONDS.toNanos(ms);
    }

    /** No interval: a target is computed at once. That is what the broker is started with. */
    static AssignmentInterval none() {
        return new AssignmentInterval(0);
    }

    /** Sets the interval of this group. */
    static AssignmentInterval set(Admin admin, String group, long ms) throws Exception {
        long real = Math.max(ms, LEAST_MS);
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        ConfigEntry entry = new ConfigEntry(GroupConfig.CONSUMER_ASSIGNMENT_INTERVAL_MS_CONFIG, Long.toString(real));
        admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET))))
                .all().get(30, TimeUnit.SECONDS);
        return new AssignmentInterval(real);
    }

    /** Whether a heartbeat that is handled before {@code time} may be one after the interval, though none was to pass. */
    boolean mayHavePassed(long time) {
        return running && time - earliest >= intervalNanos;
    }

    /** A heartbeat was answered, and may have computed a target. */
    void heartbeat(long sent, long answered) {
        if (intervalNanos == 0) {
            return;
        }
        if (!running) {
            earliest = sent;
            running = true;
        }
        latest = answered;
    }

    /** Waits until the interval has passed. Nothing happens if it is not running. */
    void expire() {
        if (!running) {
            return;
        }
        // One millisecond more, since the broker counts whole ones.
        long end = latest + intervalNanos + TimeUnit.MILLISECONDS.toNanos(1);
        for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
        running = false;
    }
}
