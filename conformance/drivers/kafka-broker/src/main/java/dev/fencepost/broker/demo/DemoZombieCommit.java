package dev.fencepost.broker.demo;

import dev.fencepost.broker.SingleNodeBroker;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/**
 * The zombie commit (H1, docs/fencing.md section 7) seen by users: released consumers and transactional producers of
 * Kafka against a released broker, and a proxy that only delays. Exactly-once processing writes outputs twice, and the
 * group's committed offsets go back.
 *
 * <p>Two runs, the race and its control. Ends by itself, with 0 if both came out as described, 1 if not, and 4 if the time
 * limit came first.
 */
public final class DemoZombieCommit {
    private static final long LIMIT_MS = 110_000;

    private DemoZombieCommit() {}

    public static void main(String[] arguments) throws Exception {
        TimeLimit.set(LIMIT_MS);
        boolean asDescribed;
        try (DelayingProxy proxy = new DelayingProxy();
                SingleNodeBroker broker = SingleNodeBroker.startBehind(proxy.port(), Map.of())) {
            proxy.start(broker::proxiedPort);
            System.out.println("Apache Kafka " + AppInfoParser.getVersion() + ": one broker at " + broker.bootstrapServers()
                    + ", stock consumers (group.protocol=consumer)\nand stock transactional producers. m0 reaches the broker"
                    + " through a proxy that holds requests back and changes none.");
            try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", broker.bootstrapServers()))) {
                Run.Result race = run(broker, proxy, admin, true);
                Run.Result control = run(broker, proxy, admin, false);
                asDescribed = explain(race, control);
            }
        }
        System.exit(asDescribed ? 0 : 1);
    }

    private static Run.Result run(SingleNodeBroker broker, DelayingProxy proxy, Admin admin, boolean race)
            throws Exception {
        System.out.println(race ? "\nThe race: m1 and m2 join one after the other" : "\nThe control: m2 does not join");
        long started = System.nanoTime();
        Run.Result result = new Run(broker, proxy, admin, race, line -> System.out.printf(
                "  %5.1f s  %s%n", (System.nanoTime() - started) / 1e9, line)).run();
        System.out.printf("  => %d read_committed outputs from %d inputs%s%n", result.outputs(), result.inputs(),
                result.twice().isEmpty() ? "" : "; twice, by: " + result.twice());
        return result;
    }

    private static boolean explain(Run.Result race, Run.Result control) {
        boolean zombie = race.m0Committed() && race.outputs() > race.inputs() && !race.after().equals(race.before());
        boolean fenced = !control.m0Committed() && control.outputs() == control.inputs()
                && control.after().equals(control.before());
        System.out.println();
        if (zombie && fenced) {
            System.out.println("""
                    Both as described. In the control, m0's member epoch has risen when its late commit arrives, so the broker
                    refuses it, the transaction is aborted, and each input counts once. In the race, m0 was asked for more
                    partitions before it had acknowledged the first ones. It releases those while its epoch stays what it was
                    (KAFKA-19974), and a commit whose epoch equals the member's is accepted without asking who owns the
                    partitions (ConsumerGroup#validateOffsetCommit). So the transaction of a member that no longer owns them
                    commits: outputs are there twice, and the offsets of the new owners go back to m0's.""");
        } else {
            System.out.println("NOT as described: "
                    + (zombie ? "" : "the race was expected to commit outputs twice and to move offsets back. ")
                    + (fenced ? "" : "The control was expected to refuse m0's commit, and each input to count once."));
        }
        return zombie && fenced;
    }
}
