package fencepost.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;

/**
 * One trace of the protocol {@code fencing} on one coordinator: what each operation does.
 *
 * <p>The operations are those of fencepost's vocabulary, in its JSON form; docs/fencing.md says what each is.
 */
final class FencingTrace implements Trace {
    private static final long FIRST_PRODUCER_ID = 1000;

    private final ManualClock clock = new ManualClock();
    private final ClusterMetadata cluster;
    private final Requests requests;
    private final ClassicRequests classicRequests;
    private final Answers answers;
    private final Observation observation;
    private final Coordinator coordinator;
    private final int assignmentIntervalMs;
    private final List<String> producers = new ArrayList<>();
    private final MemberIds members = new MemberIds();
    private final ScriptedTarget target = new ScriptedTarget();

    FencingTrace(JsonNode configure) {
        Map<String, Integer> topics = topics(configure.path("topics"));
        assignmentIntervalMs = configure.path("assignment_interval_ms").asInt(0);
        cluster = new ClusterMetadata(topics);
        requests = new Requests(cluster, List.copyOf(topics.keySet()));
        classicRequests = new ClassicRequests(List.copyOf(topics.keySet()));
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

    @Override
    public ObjectNode observe(String broker) {
        return observation.of(coordinator.shard(), members::name, this::producerName);
    }

    @Override
    public Outcome step(JsonNode operation, String broker) {
        if (operation.size() != 1 || !operation.isObject()) {
            throw new IllegalArgumentException("an operation is a map of one entry");
        }
        Map.Entry<String, JsonNode> only = operation.fields().next();
        JsonNode body = only.getValue();
        if (!body.isObject()) {
            throw new IllegalArgumentException("`" + only.getKey() + "` has no fields");
        }
        ScriptedAssignor.setScript(id -> target.partitions(members.name(id)));
        return switch (only.getKey()) {
            case "target" -> target(body);
            case "topics" -> changeTopics(body);
            case "heartbeat" -> now(heartbeat(body));
            case "leave" -> now(leave(body));
            case "commit" -> now(commit(body));
            case "txn_commit" -> now(txnCommit(body));
            case "end_transaction" -> now(endTransaction(body));
            case "fetch" -> now(fetch(body));
            case "join_group" -> now(joinGroup(body));
            case "sync_group" -> now(syncGroup(body));
            case "classic_heartbeat" -> now(classicHeartbeat(body));
            case "expire" -> expire(body);
            case "replicate" -> Outcome.completed(coordinator.replicate(Requests.word(body, "through")));
            case "fail_over" -> failOver(body);
            default -> throw new Skipped("this driver has no operation `" + only.getKey() + "`");
        };
    }

    private static Outcome now(Reply reply) {
        return Outcome.answered(reply);
    }

    private Outcome target(JsonNode body) {
        Map<String, Map<Uuid, Set<Integer>>> partitions = new HashMap<>();
        body.fields().forEachRemaining(member ->
            partitions.put(member.getKey(), requests.assignment(member.getValue())));
        target.set(partitions);
        coordinator.metadataChanged(cluster.moveToAnotherRack());
        return Outcome.NOTHING;
    }

    private Outcome changeTopics(JsonNode body) {
        Map<String, ClusterMetadata.Topic> before = new TreeMap<>(cluster.topics());
        coordinator.metadataChanged(cluster.replaceTopics(topics(body)));
        before.keySet().removeAll(cluster.topics().keySet());
        if (!before.isEmpty()) {
            coordinator.topicsDeleted(before);
        }
        return Outcome.NOTHING;
    }

    private Reply heartbeat(JsonNode body) {
        var context = Requests.context(ApiKeys.CONSUMER_GROUP_HEARTBEAT, body);
        var request = requests.heartbeat(body, memberId(body));
        return noted(coordinator.write(name(body), CoordinatorLog.NO_PRODUCER_ID,
            () -> coordinator.shard().consumerGroupHeartbeat(context, request), answers::heartbeat));
    }

    private Reply leave(JsonNode body) {
        var context = Requests.context(ApiKeys.CONSUMER_GROUP_HEARTBEAT, body);
        var request = requests.leave(body, memberId(body));
        Reply reply = coordinator.write(name(body), CoordinatorLog.NO_PRODUCER_ID,
            () -> coordinator.shard().consumerGroupHeartbeat(context, request), answers::leave);
        keepTargetPending();
        return reply;
    }

    private Reply commit(JsonNode body) {
        var context = Requests.context(ApiKeys.OFFSET_COMMIT, body);
        var request = requests.commit(body, memberId(body));
        return coordinator.write(name(body), CoordinatorLog.NO_PRODUCER_ID,
            () -> coordinator.shard().commitOffset(context, request), answers::commit);
    }

    private Reply txnCommit(JsonNode body) {
        long producer = producerId(body);
        var context = Requests.context(ApiKeys.TXN_OFFSET_COMMIT, body);
        var request = requests.txnCommit(body, memberId(body), producer);
        return coordinator.write(name(body), producer,
            () -> coordinator.shard().commitTransactionalOffset(context, request), answers::txnCommit);
    }

    private Reply endTransaction(JsonNode body) {
        TransactionResult result =
            body.path("result").asText().equals("commit") ? TransactionResult.COMMIT : TransactionResult.ABORT;
        return coordinator.endTransaction(name(body), producerId(body), result, Answers.empty());
    }

    /** A stable fetch is answered as a write is, from the newest state; a plain one at once, from what is committed. */
    private Reply fetch(JsonNode body) {
        var request = requests.fetch(body, body.hasNonNull("member") ? memberId(body) : null);
        if (body.path("require_stable").asBoolean()) {
            return coordinator.write(name(body), CoordinatorLog.NO_PRODUCER_ID,
                () -> new CoordinatorResult<>(List.of(), coordinator.shard().fetchOffsets(request, Long.MAX_VALUE)),
                answers::fetch);
        }
        try {
            return answers.fetch(coordinator.shard().fetchOffsets(request, coordinator.highWatermark()));
        } catch (RuntimeException refusal) {
            return Reply.ofThrown(refusal);
        }
    }

    private Reply joinGroup(JsonNode body) {
        if (!Observation.hasConsumerGroup(coordinator.shard())) {
            throw new Skipped("a classic member that joins first makes a group of the classic protocol");
        }
        var context = Requests.context(ApiKeys.JOIN_GROUP, body);
        String memberId = memberId(body);
        if (body.hasNonNull("instance") && !Observation.hasMember(coordinator.shard(), memberId)) {
            memberId = "";
            members.givesIdTo(body.path("member").asText());
        }
        var request = classicRequests.join(body, memberId);
        var response = new CompletableFuture<JoinGroupResponseData>();
        Reply reply = coordinator.write(name(body), CoordinatorLog.NO_PRODUCER_ID,
            () -> KafkaRelease.join(coordinator.shard(), context, request, response),
            nothing -> ClassicRequests.joined(response.join()));
        // The assignor did not see the new id where the group needed no new target.
        Observation.memberIds(coordinator.shard()).forEach(members::name);
        members.givesIdTo(null);
        return noted(reply);
    }

    private Reply syncGroup(JsonNode body) {
        var context = Requests.context(ApiKeys.SYNC_GROUP, body);
        var request = classicRequests.sync(body, memberId(body));
        var response = new CompletableFuture<SyncGroupResponseData>();
        return coordinator.write(name(body), CoordinatorLog.NO_PRODUCER_ID,
            () -> coordinator.shard().classicGroupSync(context, request, response),
            nothing -> ClassicRequests.synced(response.join()));
    }

    private Reply classicHeartbeat(JsonNode body) {
        var context = Requests.context(ApiKeys.HEARTBEAT, body);
        var request = classicRequests.heartbeat(body, memberId(body));
        return coordinator.write(name(body), CoordinatorLog.NO_PRODUCER_ID,
            () -> coordinator.shard().classicGroupHeartbeat(context, request), ClassicRequests::heard);
    }

    private Outcome expire(JsonNode body) {
        String timer = body.path("timer").asText();
        if (timer.equals("assignment_interval")) {
            clock.advance(assignmentIntervalMs);
            return Outcome.NOTHING;
        }
        coordinator.fire(Timers.key(timer, memberId(body)));
        keepTargetPending();
        return Outcome.NOTHING;
    }

    private Outcome failOver(JsonNode body) {
        if (body.hasNonNull("variant")) {
            throw new Skipped("there is one release of Kafka in this driver");
        }
        target.truncated(coordinator.highWatermark());
        return Outcome.completed(coordinator.failOver(cluster));
    }

    /** A heartbeat that was accepted takes note of the target, answered yet or not. */
    private Reply noted(Reply reply) {
        if (reply == null || reply.error() == null) {
            target.noted(coordinator.endOffset());
        }
        return reply;
    }

    /**
     * A removed member's bump takes the metadata's new hash along, so that the next heartbeat would not bump any more; but
     * a target is the next heartbeat's.
     */
    private void keepTargetPending() {
        if (target.pending()) {
            coordinator.metadataChanged(cluster.moveToAnotherRack());
        }
    }

    private String memberId(JsonNode body) {
        return members.id(body.path("member").asText());
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
