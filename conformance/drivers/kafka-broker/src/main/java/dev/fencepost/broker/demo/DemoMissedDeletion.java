package dev.fencepost.broker.demo;

import dev.fencepost.broker.SingleNodeBroker;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/**
 * Three ways in which a reader is given a value and never told that it was deleted, though it comes to the end of the log
 * well within {@code delete.retention.ms}: N1, N3 and N6 (docs/compaction.md 5.3), each beside its control.
 *
 * <p>Ends by itself, with 0 if all six runs came out as described, 1 if not, and 4 if the time limit came first.
 */
public final class DemoMissedDeletion {
    private static final long LIMIT_MS = 170_000;
    private static final String THROTTLE = "log.cleaner.io.max.bytes.per.second";
    private static final int OWN_KEYS = Integer.MAX_VALUE;

    private final SingleNodeBroker broker;
    private final Admin admin;

    private DemoMissedDeletion(SingleNodeBroker broker, Admin admin) {
        this.broker = broker;
        this.admin = admin;
    }

    public static void main(String[] arguments) throws Exception {
        TimeLimit.set(LIMIT_MS);
        boolean asDescribed;
        try (SingleNodeBroker broker = SingleNodeBroker.start(Map.of(
                "log.cleaner.dedupe.buffer.size", "1048600", "log.cleaner.backoff.ms", "500"))) {
            System.out.println("Apache Kafka " + AppInfoParser.getVersion() + ": one broker at " + broker.bootstrapServers()
                    + ", stock producers and consumers, compacted topics.\nThe cleaner's map holds 39321 keys.");
            try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", broker.bootstrapServers()))) {
                DemoMissedDeletion demo = new DemoMissedDeletion(broker, admin);
                // Each is run whatever came out of the one before.
                asDescribed = demo.fullMap() & demo.longRound() & demo.horizonOfAClient();
            }
        }
        System.out.println(asDescribed ? "\nAll as described." : "\nNOT all as described.");
        System.exit(asDescribed ? 0 : 1);
    }

    /** N1: a map that is full below the deletion stamps it all the same. Default dirty ratio. */
    private boolean fullMap() throws Exception {
        return isMissed("N1: more keys than the map holds between the value and its deletion", fullMap("full-map", 39_400))
                & isTold("its control: fewer", fullMap("ample-map", 39_000));
    }

    /** The second round has to come when the horizon is over: a round comes only with a new record. */
    private MissedDeletionRun.Plan fullMap(String topic, int fillers) {
        return new MissedDeletionRun.Plan(topic, fillers, OWN_KEYS, 0, "0.5", 10_000, 12_000, 0,
                Deletions.stock(broker.bootstrapServers()));
    }

    /** N3: the first round is throttled, and has much to read; the second has little. */
    private boolean longRound() throws Exception {
        throttle(AlterConfigOp.OpType.SET);
        boolean missed = isMissed("N3: a round that is long against delete.retention.ms", longRound("long-round"));
        throttle(AlterConfigOp.OpType.DELETE);
        return missed & isTold("its control: the cleaner is not throttled", longRound("short-round"));
    }

    private MissedDeletionRun.Plan longRound(String topic) {
        return new MissedDeletionRun.Plan(topic, 40_000, 10, 1_000, "0", 10_000, 11_500, 5_000,
                Deletions.stock(broker.bootstrapServers()));
    }

    private void throttle(AlterConfigOp.OpType what) throws Exception {
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.BROKER, "1"),
                List.of(new AlterConfigOp(new ConfigEntry(THROTTLE, "4000000"), what)))).all().get();
        broker.awaitMetadata();
    }

    /** N6: the batch of the deletion says itself that its time is over. */
    private boolean horizonOfAClient() throws Exception {
        return isMissed("N6: the producer of the deletion sets bit 6 of its batch's attributes", ownHorizon("bit-set", true))
                & isTold("its control: it does not", ownHorizon("bit-clear", false));
    }

    private MissedDeletionRun.Plan ownHorizon(String topic, boolean setsBit) {
        return new MissedDeletionRun.Plan(topic, 100, 100, 100, "0", 60_000, 3_000, 3_000,
                Deletions.inBatch(broker.port(), setsBit));
    }

    private boolean isMissed(String title, MissedDeletionRun.Plan plan) throws Exception {
        MissedDeletionRun.Result result = run(title, plan);
        return verdict(result.told().isEmpty() && result.tookMs() < plan.retentionMs());
    }

    private boolean isTold(String title, MissedDeletionRun.Plan plan) throws Exception {
        MissedDeletionRun.Result result = run(title, plan);
        return verdict(!result.told().isEmpty() && result.tookMs() < plan.retentionMs());
    }

    private static boolean verdict(boolean asDescribed) {
        if (!asDescribed) {
            System.out.println("     NOT as described");
        }
        return asDescribed;
    }

    private MissedDeletionRun.Result run(String title, MissedDeletionRun.Plan plan) throws Exception {
        System.out.println("\n" + title);
        long started = System.nanoTime();
        MissedDeletionRun.Result result = new MissedDeletionRun(broker.bootstrapServers(), admin, plan, line ->
                System.out.printf("  %5.1f s  %s%n", (System.nanoTime() - started) / 1e9, line)).run();
        System.out.printf("  => it came to the end %d ms after it began (delete.retention.ms is %d), and was %s%n",
                result.tookMs(), plan.retentionMs(),
                result.told().isEmpty() ? "never told that k was deleted" : "told of k: " + result.told());
        return result;
    }
}
