package dev.fencepost.broker.demo;

import dev.fencepost.broker.SingleNodeBroker;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/**
 * The deleted key that comes back (N2, docs/compaction.md 5.3), seen by users: released producers and consumers of Kafka
 * against a released broker. The cleaner's buffer is the smallest that the broker takes, so that 39,321 keys fill it; at
 * its default it would take 5,033,164.
 *
 * <p>Two runs, the fault and its control. Ends by itself, with 0 if both came out as described, 1 if not, and 4 if the time
 * limit came first.
 */
public final class DemoDeletedKey {
    private static final long LIMIT_MS = 170_000;

    private DemoDeletedKey() {}

    public static void main(String[] arguments) throws Exception {
        TimeLimit.set(LIMIT_MS);
        boolean asDescribed;
        try (SingleNodeBroker broker = SingleNodeBroker.start(Map.of(
                "log.cleaner.dedupe.buffer.size", "1048600", "log.cleaner.backoff.ms", "500"))) {
            System.out.println("Apache Kafka " + AppInfoParser.getVersion() + ": one broker at " + broker.bootstrapServers()
                    + ", stock producers and consumers; a compacted topic\nwith delete.retention.ms=2000. The cleaner's map"
                    + " holds 39321 keys.");
            try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", broker.bootstrapServers()))) {
                DeletedKeyRun.Result fault = run(broker, admin, true);
                DeletedKeyRun.Result control = run(broker, admin, false);
                asDescribed = explain(fault, control);
            }
        }
        System.exit(asDescribed ? 0 : 1);
    }

    private static DeletedKeyRun.Result run(SingleNodeBroker broker, Admin admin, boolean aborts) throws Exception {
        System.out.println(aborts ? "\nThe application aborts a transaction first" : "\nThe control: it commits it");
        long started = System.nanoTime();
        DeletedKeyRun.Result result = new DeletedKeyRun(broker.bootstrapServers(), admin, aborts, line -> System.out.printf(
                "  %5.1f s  %s%n", (System.nanoTime() - started) / 1e9, line)).run();
        System.out.println("  => in the end a reader finds of k: " + result.after());
        return result;
    }

    private static boolean explain(DeletedKeyRun.Result fault, DeletedKeyRun.Result control) {
        boolean isBack = fault.before().size() == 2 && fault.after().equals(List.of("offset 0: v"));
        boolean isGone = control.before().size() == 2 && control.after().isEmpty();
        System.out.println();
        if (isBack && isGone) {
            System.out.println("""
                    Both as described. The map was full inside the segment. The next round began to read there, behind the
                    abort, but was given the list of all aborted transactions of the segment (Cleaner#buildOffsetMap). It never
                    met the abort's marker, so it took all that the application wrote afterwards for aborted, and did not map
                    the committed deletion. The old value stayed, the deletion expired and went: the deleted key is back, and no
                    later round looks there again. In the control there is no aborted transaction, and k is gone.""");
        } else {
            System.out.println("NOT as described: "
                    + (isBack ? "" : "the value was expected to be back. ")
                    + (isGone ? "" : "In the control the key was expected to be gone."));
        }
        return isBack && isGone;
    }
}
