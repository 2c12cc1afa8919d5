package fencepost.kafka.replication;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.KafkaRelease;
import fencepost.kafka.Reply;
import fencepost.kafka.Skipped;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import kafka.cluster.Partition;
import kafka.server.AbstractFetcherThread;
import kafka.server.OffsetTruncationState;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.server.replica.ReplicaState;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A decision of a leader or of a follower, made by Kafka's {@code Partition}, its log or its fetcher, on a broker that has
 * been brought to what is given: by records of the controller and of a leader as far as they go, else by setting its fields.
 */
final class PartitionDecision implements AutoCloseable {
    private static final String SELF = "self";
    private static final String OTHER = "other";
    private static final int LEADER_EPOCH = 1_000_000;
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    private final BrokerNames names;
    private final Broker broker;

    private PartitionDecision(ArrayNode brokers, JsonNode given, Path logs) {
        names = new BrokerNames(brokers);
        broker = new Broker(1, logs.resolve("decision"), names, given.path("min_isr").asInt(1));
    }

    static Reply decide(JsonNode given, String call, JsonNode body, Path logs) {
        ArrayNode brokers = brokers(given);
        try (PartitionDecision decision = new PartitionDecision(brokers, given, logs)) {
            return switch (call) {
                case "truncation_target" -> decision.truncationTarget(given, body);
                case "check_leader_epoch" -> decision.checkLeaderEpoch(given, body);
                case "check_divergence" -> decision.checkDivergence(given, body);
                case "leader_high_watermark" -> decision.leaderHighWatermark(given);
                case "follower_high_watermark" -> decision.followerHighWatermark(given, body);
                case "may_join_isr" -> decision.mayJoinIsr(given, body);
                case "lagging" -> decision.lagging(given);
                case "on_alter_partition_reply" -> decision.onAlterPartitionReply(given, body);
                default -> throw new Skipped("Kafka has no function of its own for `" + call + "`");
            };
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    /** This broker first: in an ISR that is given the one that is not remote. */
    private static ArrayNode brokers(JsonNode given) {
        Set<String> brokers = new LinkedHashSet<>();
        given.path("isr").forEach(name -> {
            if (!given.path("remote").has(name.asText())) {
                brokers.add(name.asText());
            }
        });
        if (brokers.isEmpty()) {
            brokers.add(SELF);
        }
        given.path("remote").fieldNames().forEachRemaining(brokers::add);
        if (brokers.size() == 1) {
            brokers.add(OTHER);
        }
        ArrayNode written = JSON.arrayNode();
        brokers.forEach(written::add);
        return written;
    }

    /** {@code AbstractFetcherThread#getOffsetTruncationState}, of a fetcher with a partition that is given. */
    private Reply truncationTarget(JsonNode given, JsonNode body) {
        if (body.path("epoch").isNull()) {
            // The same to Kafka: an epoch that an old version of the answer does not have is -1.
            ((ObjectNode) body).put("epoch", -1);
        }
        become(2, LEADER_EPOCH, JSON.arrayNode().add(names.name(1)).add(names.name(2)), 0);
        fill(0, given.path("log_end").asLong(), given.path("epochs"));
        AbstractFetcherThread fetcher = broker.links().get(0).fetcher();
        broker.links().get(0).setFetchOffset(body.path("fetch_offset").asLong());
        var end = new OffsetForLeaderEpochResponseData.EpochEndOffset().setPartition(0)
            .setLeaderEpoch(body.path("epoch").asInt()).setEndOffset(body.path("end_offset").asLong());
        OffsetTruncationState target = (OffsetTruncationState) KafkaRelease.call(
            KafkaRelease.method(fetcher.getClass(), "getOffsetTruncationState", 2), fetcher, Topic.PARTITION, end);
        ObjectNode outcome = JSON.objectNode();
        outcome.putObject("truncation").put("offset", target.offset()).put("finished", target.truncationCompleted());
        return Reply.of(outcome);
    }

    /** {@code Partition#localLogWithEpochOrThrow}. */
    private Reply checkLeaderEpoch(JsonNode given, JsonNode body) {
        int leader = switch (given.path("role").asText()) {
            case "leader" -> 1;
            case "follower" -> 2;
            default -> throw new Skipped("a broker that has heard of no partition has none to ask");
        };
        int asked = body.path("current_leader_epoch").asInt();
        become(leader, given.path("leader_epoch").asInt(), JSON.arrayNode().add(names.name(1)).add(names.name(2)), 0);
        partition().localLogWithEpochOrThrow(
            asked < 0 ? Optional.empty() : Optional.of(asked), body.path("leader_required").asBoolean());
        return Reply.of(JSON.objectNode().put("allowed", true));
    }

    /** A follower's fetch. */
    private Reply checkDivergence(JsonNode given, JsonNode body) throws IOException {
        become(1, LEADER_EPOCH, JSON.arrayNode().add(names.name(1)), 0);
        fill(given.path("log_start").asLong(), given.path("log_end").asLong(), given.path("epochs"));
        JsonNode fetch = JSON.objectNode().put("offset", body.path("fetch_offset").asLong())
            .put("last_fetched_epoch", body.path("last_fetched_epoch").asInt()).put("current_leader_epoch", LEADER_EPOCH);
        ObjectNode reply = new ServedRequests(broker).fetch(2, fetch, null).reply();
        if (reply.has("error")) {
            return new Reply(null, reply.get("error").asText());
        }
        return Reply.of(reply.has("diverging")
            ? JSON.objectNode().set("epoch_end", reply.get("diverging")) : JSON.objectNode().put("allowed", true));
    }

    /** {@code Partition#maybeIncrementLeaderHW}. */
    private Reply leaderHighWatermark(JsonNode given) throws IOException {
        lead(given);
        KafkaRelease.call(KafkaRelease.method(Partition.class, "maybeIncrementLeaderHW", 2), partition(), log(), broker.nowMs());
        return Reply.of(JSON.objectNode().put("offset", log().highWatermark()));
    }

    /** {@code UnifiedLog#maybeUpdateHighWatermark}. */
    private Reply followerHighWatermark(JsonNode given, JsonNode body) throws IOException {
        become(2, LEADER_EPOCH, JSON.arrayNode().add(names.name(1)).add(names.name(2)), 0);
        fill(given.path("log_start").asLong(), given.path("log_end").asLong(), JSON.arrayNode());
        log().maybeUpdateHighWatermark(body.path("leader").asLong());
        return Reply.of(JSON.objectNode().put("offset", log().highWatermark()));
    }

    /** {@code Partition#needsExpandIsr}. */
    private Reply mayJoinIsr(JsonNode given, JsonNode body) throws IOException {
        lead(given);
        partition().leaderEpochStartOffsetOpt_$eq(scala.Option.apply(given.path("leader_epoch_start").asLong()));
        Replica replica = partition().getReplica(names.id(body.path("broker").asText())).get();
        return Reply.of(JSON.objectNode().put("allowed",
            (boolean) KafkaRelease.call(KafkaRelease.method(Partition.class, "needsExpandIsr", 1), partition(), replica)));
    }

    /** {@code Partition#getOutOfSyncReplicas}. */
    private Reply lagging(JsonNode given) throws IOException {
        lead(given);
        List<Integer> lagging = new ArrayList<>();
        CollectionConverters.asJava(partition().getOutOfSyncReplicas(partition().replicaLagTimeMaxMs()))
            .forEach(id -> lagging.add((Integer) id));
        return Reply.of(JSON.objectNode().set("brokers", names.written(lagging)));
    }

    /** {@code Partition#handleAlterPartitionUpdate} and {@code #handleAlterPartitionError}, of a leader that wants to shrink. */
    private Reply onAlterPartitionReply(JsonNode given, JsonNode body) throws IOException {
        ArrayNode isr = JSON.arrayNode().add(names.name(1)).add(names.name(2));
        become(1, given.path("leader_epoch").asInt(), isr, given.path("partition_epoch").asInt());
        MemoryRecords batch = TraceRecords.batch(JSON.arrayNode().add("r"), 0);
        log().appendAsLeader(batch, given.path("leader_epoch").asInt());
        broker.shrinkIsr();
        ObjectNode reply = JSON.objectNode();
        if (body.hasNonNull("error")) {
            reply.put("error", body.get("error").asText());
        } else {
            reply.put("leader", names.name(1)).put("leader_epoch", body.path("leader_epoch").asInt())
                .put("partition_epoch", body.path("partition_epoch").asInt()).putArray("isr").add(names.name(1));
        }
        broker.controller().answer(Messages.controllerResponse(reply, names));
        broker.settle();
        ReplicaRelease.InSync inSync = ReplicaRelease.inSync(partition());
        String reaction = broker.controller().outstanding() != null ? "sends_again"
            : inSync.proposed().isPresent() ? "waits" : inSync.confirmed().size() == 1 ? "commits" : "goes_back";
        return Reply.of(JSON.objectNode().put("reaction", reaction));
    }

    /** A leader that knows of its followers what is given. */
    private void lead(JsonNode given) throws IOException {
        become(1, LEADER_EPOCH, given.path("isr"), 0);
        long end = given.path("log_end").asLong(farthestEnd(given));
        fill(0, end, JSON.arrayNode());
        log().updateHighWatermark(given.path("high_watermark").asLong(0));
        given.path("remote").fields().forEachRemaining(remote -> know(remote.getKey(), remote.getValue(), end));
        Set<Integer> proposed = new LinkedHashSet<>(Set.of(1));
        given.path("remote").fields().forEachRemaining(remote -> {
            if (remote.getValue().path("pending").asBoolean()) {
                proposed.add(names.id(remote.getKey()));
            }
        });
        if (proposed.size() > 1) {
            ReplicaRelease.propose(partition(),
                new LeaderAndIsr(1, LEADER_EPOCH, List.copyOf(proposed), LeaderRecoveryState.RECOVERED, 0));
        }
    }

    private static long farthestEnd(JsonNode given) {
        long end = given.path("high_watermark").asLong(0);
        for (JsonNode remote : given.path("remote")) {
            end = Math.max(end, remote.path("end").asLong());
        }
        return Math.max(end, given.path("leader_epoch_start").asLong(0));
    }

    @SuppressWarnings("unchecked")
    private void know(String name, JsonNode remote, long leaderEnd) {
        int id = names.id(name);
        boolean isEligible = remote.path("eligible").asBoolean();
        long end = remote.path("end").asLong();
        ReplicaState state = new ReplicaState(0, end < 0 ? LogOffsetMetadata.UNKNOWN_OFFSET_METADATA : new LogOffsetMetadata(end),
            leaderEnd, 0, remote.path("caught_up").asBoolean() ? broker.nowMs() : 0, Optional.of(1L));
        ((AtomicReference<ReplicaState>) KafkaRelease.peek(partition().getReplica(id).get(), "replicaState")).set(state);
        if (!isEligible) {
            ArrayNode fenced = JSON.arrayNode();
            fenced.addObject().put("broker", name).put("broker_epoch", 1).put("fenced", true);
            broker.metadata(fenced);
        }
    }

    private void become(int leader, int leaderEpoch, JsonNode isr, int partitionEpoch) {
        ArrayNode records = JSON.arrayNode();
        records.addObject().put("leader", names.name(leader)).put("leader_epoch", leaderEpoch)
            .put("partition_epoch", partitionEpoch).set("isr", isr);
        broker.metadata(records);
    }

    /** A log with these ends, and an epoch cache with these entries. */
    private void fill(long start, long end, JsonNode epochs) {
        UnifiedLog log = log();
        log.truncateFullyAndStartAt(start, Optional.empty());
        if (end > start) {
            ArrayNode records = JSON.arrayNode();
            for (long offset = start; offset < end; offset++) {
                records.addArray().add(offset).add(0).add("r");
            }
            log.appendAsFollower(TraceRecords.batches(records, start), LEADER_EPOCH);
        }
        log.leaderEpochCache().clearAndFlush();
        epochs.forEach(entry -> log.leaderEpochCache().assign(entry.get(0).asInt(), entry.get(1).asLong()));
    }

    private Partition partition() {
        return broker.partition().orElseThrow();
    }

    private UnifiedLog log() {
        return broker.log().orElseThrow();
    }

    @Override
    public void close() {
        broker.close();
    }
}
