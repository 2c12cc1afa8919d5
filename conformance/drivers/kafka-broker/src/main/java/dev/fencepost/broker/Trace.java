package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.Uuid;

/**
 * One trace on the broker: a group of its own, topics of its own, and two connections, one for heartbeats and one for
 * commits. Each operation becomes one step of a client, or is skipped with the reason why a client can't take it.
 */
final class Trace implements AutoCloseable {
    private final SingleNodeBroker broker;
    private final Connection heartbeatConnection;
    private final Connection commitConnection;
    private final TraceTopics topics;
    private final AssignmentInterval interval;
    private final Heartbeats heartbeats;
    private final ClassicMembers classicMembers;
    private final Offsets offsets;
    private final Transactions transactions;

    /**
     * @param number the number of the trace in this process
     * @param configure what the empty coordinator is made of
     */
    Trace(SingleNodeBroker broker, Admin admin, int number, JsonNode configure) throws Exception {
        String group = "fp" + number;
        this.broker = broker;
        ScriptedAssignor.answer(Map.of());
        interval = configure.hasNonNull("assignment_interval_ms")
                ? AssignmentInterval.set(admin, group, configure.get("assignment_interval_ms").asLong())
                : AssignmentInterval.none();
        topics = new TraceTopics(broker, admin, number);
        topics.create(configure.path("topics"));
        heartbeatConnection = new Connection(broker, group + "-heartbeats");
        commitConnection = new Connection(broker, group + "-commits");
        heartbeats = new Heartbeats(heartbeatConnection, group, topics, interval);
        classicMembers = new ClassicMembers(heartbeatConnection, group, topics);
        offsets = new Offsets(commitConnection, group, topics);
        transactions = new Transactions(commitConnection, group, topics);
    }

    /** Why no trace that is configured like this can run on a broker of one node, if so. */
    static Optional<String> cannotConfigure(JsonNode configure) {
        if ("held".equals(configure.path("replication").asText())) {
            return Optional.of("the log of a single broker is committed at once");
        }
        if (configure.hasNonNull("max_size")) {
            return Optional.of("group.consumer.max.size is the whole broker's, and it is started without");
        }
        return Optional.empty();
    }

    /** Does one operation, a map with a single key. */
    Outcome step(JsonNode operation) throws Exception {
        if (!operation.isObject() || operation.size() != 1) {
            throw new IllegalArgumentException("an operation is a map with one key, not " + operation);
        }
        String name = operation.fieldNames().next();
        JsonNode fields = operation.get(name);
        return switch (name) {
            case "target" -> target(fields);
            case "topics" -> topics.change(fields).<Outcome>map(Outcome.Skipped::new).orElseGet(Trace::done);
            case "heartbeat" -> heartbeats.heartbeat(fields);
            case "leave" -> heartbeats.leave(fields);
            case "commit" -> offsets.commit(fields);
            case "fetch" -> offsets.fetch(fields);
            case "txn_commit" -> transactions.commit(fields);
            case "end_transaction" -> transactions.end(fields);
            case "expire" -> expire(fields);
            case "fail_over" -> failOver(fields);
            case "replicate" -> new Outcome.Skipped("the log of a single broker is committed at once");
            case "join_group" -> classicMembers.join(fields);
            case "sync_group" -> classicMembers.sync(fields);
            case "classic_heartbeat" -> classicMembers.heartbeat(fields);
            default -> throw new IllegalArgumentException("there is no operation `" + name + "`");
        };
    }

    private Outcome target(JsonNode members) throws Exception {
        Map<String, Map<Uuid, Set<Integer>>> script = new HashMap<>();
        members.properties().forEach(member -> {
            Map<Uuid, Set<Integer>> partitions = new HashMap<>();
            TracePartition.byTopic(member.getValue()).forEach(
                    (topic, numbers) -> partitions.put(topics.id(topic), new HashSet<>(numbers)));
            script.put(member.getKey(), partitions);
        });
        ScriptedAssignor.answer(script);
        topics.growHidden();
        return done();
    }

    private Outcome expire(JsonNode fields) {
        String timer = fields.path("timer").asText();
        if (!"assignment_interval".equals(timer)) {
            return new Outcome.Skipped("a broker's " + timer + " timer can't be made to run out for one member alone");
        }
        interval.expire();
        return done();
    }

    /** The broker stops and starts again, and the coordinator loads its partition; both connections are new. */
    private Outcome failOver(JsonNode fields) throws Exception {
        if (fields.hasNonNull("variant")) {
            return new Outcome.Skipped("there is only one version of the broker here");
        }
        broker.restart();
        heartbeatConnection.reconnect();
        commitConnection.reconnect();
        Coordinators.await(commitConnection);
        return done();
    }

    private static Outcome done() {
        return new Outcome.Done(null);
    }

    @Override
    public void close() throws Exception {
        try (heartbeatConnection; commitConnection) {
            transactions.abortOpen();
            topics.delete();
        }
    }
}
