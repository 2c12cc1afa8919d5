package dev.fencepost.broker.demo;

import dev.fencepost.broker.cluster.Cluster;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/**
 * The acknowledged records that are lost (docs/findings/lost-ack.md), seen by users: a released producer and consumer of
 * Kafka against a released cluster of a controller and three brokers, which are paused, elected and killed as it takes.
 *
 * <p>Two runs, the fault and its control. Ends by itself, with 0 if both came out as described, 1 if not, 3 if the situation
 * did not come about in three attempts, and 4 if the time limit came first.
 */
public final class DemoLostAck {
    private static final long LIMIT_MS = 220_000;
    private static final int ATTEMPTS = 3;

    private DemoLostAck() {}

    public static void main(String[] arguments) throws Exception {
        TimeLimit.set(LIMIT_MS);
        int status;
        try (Cluster cluster = Cluster.start(Map.of())) {
            System.out.println("Apache Kafka " + AppInfoParser.getVersion() + ": a controller and the brokers A, B, C at "
                    + cluster.bootstrapServers() + ",\na stock producer (acks=all) and a stock consumer; topics with"
                    + " min.insync.replicas=2 and\nunclean.leader.election.enable=false. Brokers are paused (SIGSTOP), shut down"
                    + " (SIGTERM) and killed (SIGKILL).");
            try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", cluster.bootstrapServers()))) {
                LostAckRun.Result fault = run(cluster, admin, true);
                LostAckRun.Result control = run(cluster, admin, false);
                status = explain(fault, control) ? 0 : 1;
            } catch (LostAckRun.Missed again) {
                System.out.println("\nNothing shown: in " + ATTEMPTS + " attempts the situation did not come about.");
                status = 3;
            }
        }
        System.exit(status);
    }

    private static LostAckRun.Result run(Cluster cluster, Admin admin, boolean skips) throws Exception {
        System.out.println(skips ? "\nA does not hear that B was elected until it is elected again itself"
                : "\nThe control: A hears of it");
        for (int attempt = 1;; attempt++) {
            long started = System.nanoTime();
            String topic = (skips ? "skipped-" : "control-") + attempt;
            try {
                return new LostAckRun(cluster, admin, topic, skips, line -> System.out.printf(
                        "  %5.1f s  %s%n", (System.nanoTime() - started) / 1e9, line)).run();
            } catch (LostAckRun.Missed missed) {
                System.out.println("  attempt " + attempt + " tells nothing: " + missed.getMessage());
                if (attempt == ATTEMPTS) {
                    throw missed;
                }
                cluster.startStopped();
            }
        }
    }

    private static boolean explain(LostAckRun.Result fault, LostAckRun.Result control) {
        System.out.printf("%n  %-32s %-32s %s%n", "", "A does not hear of B", "control");
        row("acknowledged with acks=all", fault.acknowledged(), control.acknowledged());
        row("found afterwards", fault.found(), control.found());
        row("lost", fault.lost(), control.lost());
        boolean isLost = fault.lost().equals(List.of("m10", "m11"));
        boolean isKept = control.acknowledged().size() == fault.acknowledged().size() && control.lost().isEmpty();
        System.out.println();
        if (isLost && isKept) {
            System.out.println("""
                    Both as described. A was leader before and is leader after, so it took itself for one that never ceased to
                    lead, and kept what it remembered of C's log (Partition#makeLeader): that it ends at 12. But C had
                    cut it back to 10 for B, in the leader epoch between, which A never saw. With B gone from the ISR, A's high
                    watermark rose to 12 and the records were acknowledged, with no copy but A's. In the control A became a
                    follower in between, and the records were acknowledged when all had them.""");
        } else {
            System.out.println("NOT as described: "
                    + (isLost ? "" : "m10 and m11 were expected to be acknowledged and then lost. ")
                    + (isKept ? "" : "In the control all were expected to be acknowledged and found."));
        }
        return isLost && isKept;
    }

    private static void row(String what, List<String> fault, List<String> control) {
        System.out.printf("  %-32s %-32s %s%n", what, brief(fault), brief(control));
    }

    /** m0, m1, ... m9 is "m0 to m9", if it is without gaps. */
    private static String brief(List<String> records) {
        if (records.size() < 3) {
            return records.isEmpty() ? "nothing" : String.join(", ", records);
        }
        int first = Integer.parseInt(records.get(0).substring(1));
        for (int index = 0; index < records.size(); index++) {
            if (!records.get(index).equals("m" + (first + index))) {
                return String.join(", ", records);
            }
        }
        return records.get(0) + " to " + records.get(records.size() - 1);
    }
}
