package fencepost.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.TxnOffsetCommitResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.TransactionResult;

/**
 * One trace of the protocol {@code fencing} on one coordinator: what each operation does.
 *
 * <p>The operations are those of fencepost's vocabulary, in its JSON form; docs/fencing.md says what each is.
 */
final class FencingTrace {
    private static final long FIRST_PRODUCER_ID = 1000;

    private final ManualClock clock = new ManualClock();
    private final ClusterMetadata cluster;
    private final Requests requests;
    private final Answers answers;
    private final Observation observation;
    private final Coordinator coordinator;
    private final int assignmentIntervalMs;
    private final List<String> producers = new ArrayList<>();
    /** What the assignor answers. */
    private Map<String, Map<Uuid, Set<Integer>>> script = Map.of();
    /** Whether no heartbeat took note of the last target yet. */
    private boolean targetPending;

    FencingTrace(JsonNode configure) {
        Map<String, Integer> topics = topics(configure.path("topics"));
        assignmentIntervalMs = configure.path("assignment_interval_ms").asInt(0);
        cluster = new ClusterMetadata(topics);
        requests = new Requests(cluster, List.copyOf(topics.keySet()));
        answers = new Answers(cluster);
        observation = new Observation(cluster);
        boolean held = configure.path("replication").asText().equals("held");
        coordinator = new Coordinator(settings(configure), cluster, clock, held);
    }

    private Map<String, Object> settings(JsonNode configure) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("group.consumer.assignors",
            List.of(ScriptedAssignor.Uniform.class.getName(), ScriptedAssignor.Range.class.getName()));
        settings.put("group.consumer.assignment.interval.ms", assignmentIntervalMs);
        settings.put("group.consumer.max.assignment.interval.ms", Integer.MAX_VALUE);
        if (configure.hasNonNull("max_size")) {
            settings.put("group.consumer.max.size", configure.get("max_size").asInt());
        }
        return settings;
    }

    ObjectNode observe() {
        return observation.of(coordinator.shard(), id -> id, this::producerName);
    }

    /**
     * Carries out one operation.
     *
     * @throws Skipped where this driver, or this release of Kafka, has no such thing
     */
    Outcome step(JsonNode operation) {
        Map.Entry<String, JsonNode> only = operation.fields().next();
        JsonNode body = only.getValue();
        ScriptedAssignor.setScript(script);
        return switch (only.getKey()) {
            case "target" -> target(body);
            case "topics" -> changeTopics(body);
            case "heartbeat" -> now(heartbeat(body));
            case "leave" -> now(leave(body));
            case "commit" -> now(commit(body));
            case "txn_commit" -> now(txnCommit(body));
            case "end_transaction" -> now(endTransaction(body));
            case "fetch" -> now(fetch(body));
            case "expire" -> expire(body);
            case "replicate" -> new Outcome(null, coordinator.replicate(Requests.word(body, "through")));
            case "fail_over" -> failOver(body);
            default -> throw new Skipped("this driver has no operation `" + only.getKey() + "`");
        };
    }

    private static Outcome now(Reply reply) {
        return new Outcome(reply, Map.of());
    }

    private Outcome target(JsonNode body) {
        Map<String, Map<Uuid, Set<Integer>>> next = new HashMap<>();
        body.fields().forEachRemaining(member -> next.put(member.getKey(), requests.assignment(member.getValue())));
        script = next;
        targetPending = true;
        coordinator.metadataChanged(cluster.moveToAnotherRack());
        return Outcome.NOTHING;
    }

    private Outcome changeTopics(JsonNode body) {
        coordinator.metadataChanged(cluster.replaceTopics(topics(body)));
        return Outcome.NOTHING;
    }

    private Reply heartbeat(JsonNode body) {
        var context = Requests.context(ApiKeys.CONSUMER_GROUP_HEARTBEAT, body);
        var request = requests.heartbeat(body);
        Reply reply = coordinator.write(name(body), CoordinatorLog.NO_PRODUCER_ID,
            () -> {
                var result = coordinator.shard().consumerGroupHeartbeat(context, request);
                targetPending = false;
                return result;
            },
            response -> answers.heartbeat((ConsumerGroupHeartbeatResponseData) heartbeatResponse(response)));
        return reply;
    }

    private Reply leave(JsonNode body) {
        var context = Requests.context(ApiKeys.CONSUMER_GROUP_HEARTBEAT, body);
        var request = requests.leave(body);
        Reply reply = coordinator.write(name(body), CoordinatorLog.NO_PRODUCER_ID,
            () -> coordinator.shard().consumerGroupHeartbeat(context, request),
            response -> answers.leave((ConsumerGroupHeartbeatResponseData) heartbeatResponse(response)));
        keepTargetPending();
        return reply;
    }

    /** A release may answer a heartbeat with something around the response; none of 4.1 to 4.4 does. */
    private static Object heartbeatResponse(Object response) {
        return response;
    }

    private Reply commit(JsonNode body) {
        var context = Requests.context(ApiKeys.OFFSET_COMMIT, body);
        var request = requests.commit(body, body.path("member").asText());
        return coordinator.write(name(body), CoordinatorLog.NO_PRODUCER_ID,
            () -> coordinator.shard().commitOffset(context, request),
            response -> answers.commit((OffsetCommitResponseData) response));
    }

    private Reply txnCommit(JsonNode body) {
        long producer = producerId(body);
        var context = Requests.context(ApiKeys.TXN_OFFSET_COMMIT, body);
        var request = requests.txnCommit(body, body.path("member").asText(), producer);
        return coordinator.write(name(body), producer,
            () -> coordinator.shard().commitTransactionalOffset(context, request),
            response -> answers.txnCommit((TxnOffsetCommitResponseData) response));
    }

    private Reply endTransaction(JsonNode body) {
        TransactionResult result =
            body.path("result").asText().equals("commit") ? TransactionResult.COMMIT : TransactionResult.ABORT;
        return coordinator.endTransaction(name(body), producerId(body), result, Answers.empty());
    }

    private Reply fetch(JsonNode body) {
        var request = requests.fetch(body, Requests.word(body, "member"));
        boolean stable = body.path("require_stable").asBoolean();
        if (stable && coordinator.lags()) {
            throw new Skipped("a stable fetch waits for the high watermark, and the operation has no name to be answered by");
        }
        try {
            // A stable fetch looks at the newest state, where open transactions are; a plain one at what is committed.
            return answers.fetch(coordinator.shard().fetchOffsets(request, stable ? Long.MAX_VALUE : coordinator.highWatermark()));
        } catch (RuntimeException refusal) {
            return Reply.ofThrown(refusal);
        }
    }

    private Outcome expire(JsonNode body) {
        String timer = body.path("timer").asText();
        if (timer.equals("assignment_interval")) {
            clock.advance(assignmentIntervalMs);
            return Outcome.NOTHING;
        }
        coordinator.fire(Timers.key(timer, body.path("member").asText()));
        keepTargetPending();
        return Outcome.NOTHING;
    }

    private Outcome failOver(JsonNode body) {
        if (body.hasNonNull("variant")) {
            throw new Skipped("there is one release of Kafka in this driver");
        }
        return new Outcome(null, coordinator.failOver(cluster));
    }

    /**
     * A removed member's bump takes the metadata's new hash along, so that the next heartbeat would not bump any more; but
     * a target is the next heartbeat's.
     */
    private void keepTargetPending() {
        if (targetPending) {
            coordinator.metadataChanged(cluster.moveToAnotherRack());
        }
    }

    private static String name(JsonNode body) {
        return Requests.word(body, "id");
    }

    private long producerId(JsonNode body) {
        String name = body.path("producer").asText();
        if (!producers.contains(name)) {
            producers.add(name);
        }
        return FIRST_PRODUCER_ID + producers.indexOf(name);
    }

    private String producerName(long id) {
        return producers.get((int) (id - FIRST_PRODUCER_ID));
    }

    private static Map<String, Integer> topics(JsonNode body) {
        Map<String, Integer> topics = new TreeMap<>();
        body.fields().forEachRemaining(topic -> topics.put(topic.getKey(), topic.getValue().asInt()));
        return topics;
    }
}
