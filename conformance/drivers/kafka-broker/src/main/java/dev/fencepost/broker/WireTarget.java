package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;

/**
 * What the driver answers from: one broker for the life of the process, and one trace at a time on it. What a trace
 * leaves behind, the next can't see, since it has a group and topics of its own.
 */
final class WireTarget implements Target, AutoCloseable {
    /** The epoch of the first member of a new group in Kafka from 4.3 on. */
    static final int FIRST_EPOCH = 2;

    /** What this driver can do beyond plain requests; of the timers only the assignment interval. */
    static final List<String> FEATURES = List.of(
            "request_validation",
            "targets",
            "timers",
            "static_members",
            "classic_members",
            "transactions",
            "assignment_interval",
            "leader_epochs",
            "topics_change");

    /** The settings that make a broker answer as traces need it; everything else is Kafka's default. */
    private static final Map<String, String> SETTINGS = Map.of(
            // Targets come from the trace, and are computed by the heartbeat that needs them, not beside it.
            "group.consumer.assignors",
                    ScriptedAssignor.Uniform.class.getName() + "," + ScriptedAssignor.Range.class.getName(),
            "group.consumer.assignor.offload.enable", "false",
            "group.consumer.min.assignment.interval.ms", "0",
            "group.consumer.assignment.interval.ms", "0",
            "group.consumer.max.assignment.interval.ms", "600000",
            // No session ends while a trace is replayed, however slow the machine.
            "group.consumer.max.session.timeout.ms", "3600000",
            "group.consumer.session.timeout.ms", "3600000");

    private final CompletableFuture<SingleNodeBroker> starting = new CompletableFuture<>();
    private Admin admin;
    private Trace trace;
    private int traces;

    /** Begins to start the broker. */
    WireTarget() {
        Thread thread = new Thread(() -> {
            try {
                SingleNodeBroker broker = SingleNodeBroker.start(SETTINGS);
                try (Connection connection = new Connection(broker, "fencepost-start")) {
                    Coordinators.await(connection);
                }
                starting.complete(broker);
            } catch (Exception | Error failure) {
                starting.completeExceptionally(failure);
            }
        }, "broker-start");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void start() throws Exception {
        broker();
    }

    @Override
    public Optional<String> reset(JsonNode configure) throws Exception {
        SingleNodeBroker broker = broker();
        endTrace();
        Optional<String> reason = Trace.cannotConfigure(configure);
        if (reason.isEmpty()) {
            trace = new Trace(broker, admin(broker), ++traces, configure);
        }
        return reason;
    }

    @Override
    public Outcome step(JsonNode operation) throws Exception {
        if (trace == null) {
            throw new IllegalStateException("a step before a reset that succeeded");
        }
        return trace.step(operation);
    }

    /** The broker, once it is up. */
    SingleNodeBroker broker() throws Exception {
        try {
            return starting.get();
        } catch (ExecutionException failure) {
            throw new IllegalStateException("the broker did not start", failure.getCause());
        }
    }

    private Admin admin(SingleNodeBroker broker) {
        if (admin == null) {
            admin = Admin.create(Map.<String, Object>of("bootstrap.servers", broker.bootstrapServers()));
        }
        return admin;
    }

    private void endTrace() throws Exception {
        Trace ended = trace;
        trace = null;
        if (ended != null) {
            ended.close();
        }
    }

    /** Stops the broker. A broker that is still starting is left to its shutdown hook, since the process ends. */
    @Override
    public void close() {
        if (admin != null) {
            admin.close(Duration.ZERO);
        }
        if (starting.isDone() && !starting.isCompletedExceptionally()) {
            starting.join().close();
        }
    }
}
