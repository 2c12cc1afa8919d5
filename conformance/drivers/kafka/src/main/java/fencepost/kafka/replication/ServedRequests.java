package fencepost.kafka.replication;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.Reply;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import kafka.server.*;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.replica.ClientMetadata;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.server.quota.*;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import scala.Tuple2;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * The requests that one broker answers, now or later: what {@code KafkaApis} makes of a request stands here, and what the
 * {@code ReplicaManager} answers it.
 */
final class ServedRequests {
    private static final int CLIENT = -1;
    private static final int NOT_SAID = -1;
    private static final int MAX_BYTES = 1024 * 1024;
    private static final int FOREVER_MS = Integer.MAX_VALUE;
    private static final Map<String, Short> ACKS = Map.of("all", (short) -1, "leader", (short) 1, "none", (short) 0);

    /** The answer to a fetch as a trace has it, and the batches in it as Kafka has them. */
    record Fetched(ObjectNode reply, MemoryRecords records) {
    }

    private final Broker broker;
    /** What waits, by the trace's name of it. */
    private final Map<String, TimerTask> waiting = new HashMap<>();
    private final Map<String, Reply> produced = new LinkedHashMap<>();
    private final Map<String, Fetched> fetched = new LinkedHashMap<>();

    ServedRequests(Broker broker) {
        this.broker = broker;
    }

    /** The produce requests that were answered since this was asked last. */
    Map<String, Reply> takeProduced() {
        Map<String, Reply> taken = new LinkedHashMap<>(produced);
        produced.clear();
        return taken;
    }

    /** The fetches that had waited and were answered since this was asked last. */
    Map<String, Fetched> takeFetched() {
        Map<String, Fetched> taken = new LinkedHashMap<>(fetched);
        fetched.clear();
        return taken;
    }

    /** Nobody waits for what was not answered yet. */
    void forget() {
        waiting.clear();
        produced.clear();
        fetched.clear();
    }

    /** The request of that name has waited as long as it may. */
    void expire(String name) {
        TimerTask operation = waiting.get(name);
        if (operation == null) {
            throw new IllegalArgumentException("no request " + name + " waits");
        }
        operation.run();
    }

    /** @return null where it is answered later, or never */
    Reply produce(JsonNode body) {
        String name = body.path("id").asText();
        short acks = ACKS.get(body.path("acks").asText());
        Pending<ProduceResponse.PartitionResponse> pending = new Pending<>(late -> produced.put(name, reply(late)));
        broker.produceTimer().takeNewest();
        long first = broker.log().map(UnifiedLog::logEndOffset).orElse(0L);
        ReplicaRelease.append(
            broker.replicas(), FOREVER_MS, acks, TraceRecords.batch(body.path("records"), first), pending::answer);
        broker.replicas().tryCompleteActions();
        ProduceResponse.PartitionResponse response = pending.takeOrWait();
        if (response == null) {
            waiting.put(name, broker.produceTimer().takeNewest());
        }
        return response == null || acks == 0 ? null : reply(response);
    }

    private static Reply reply(ProduceResponse.PartitionResponse response) {
        return response.error == Errors.NONE
            ? Reply.of(JsonNodeFactory.instance.objectNode().put("offset", response.baseOffset)) : Reply.of(response.error);
    }

    /** A client's fetch, which does not wait. Of the batch that has the offset, a client drops the records before. */
    Reply consume(JsonNode body) {
        Optional<ClientMetadata> anyReplica = body.path("from_follower").asBoolean()
            ? Optional.of(new ClientMetadata.DefaultClientMetadata("", "consumer", InetAddress.getLoopbackAddress(),
                KafkaPrincipal.ANONYMOUS, ClusterImage.LISTENER))
            : Optional.empty();
        FetchParams params =
            new FetchParams(CLIENT, NOT_SAID, 0, 1, MAX_BYTES, FetchIsolation.HIGH_WATERMARK, anyReplica);
        Pending<FetchPartitionData> pending = new Pending<>(late -> { });
        fetch(params, body.path("offset").asLong(), said(body, "current_leader_epoch"), Optional.empty(), pending::answer);
        FetchPartitionData data = pending.takeOrWait();
        return data.error != Errors.NONE ? Reply.of(data.error) : Reply.of(JsonNodeFactory.instance.objectNode()
            .put("high_watermark", data.highWatermark)
            .set("records", TraceRecords.written(data.records, body.path("offset").asLong())));
    }

    /**
     * A follower's fetch.
     *
     * @param name the trace's name of it, if it may wait
     * @return null where it waits
     */
    Fetched fetch(int from, JsonNode request, String name) {
        FetchParams params = new FetchParams(from, request.path("broker_epoch").asLong(ClusterImage.FIRST_BROKER_EPOCH),
            name == null ? 0 : FOREVER_MS, 1, MAX_BYTES, FetchIsolation.LOG_END, Optional.empty());
        Pending<FetchPartitionData> pending = new Pending<>(late -> fetched.put(name, fetched(late)));
        broker.fetchTimer().takeNewest();
        fetch(params, request.path("offset").asLong(), said(request, "current_leader_epoch"),
            said(request, "last_fetched_epoch"), pending::answer);
        FetchPartitionData data = pending.takeOrWait();
        if (data == null) {
            waiting.put(name, broker.fetchTimer().takeNewest());
            return null;
        }
        return fetched(data);
    }

    private void fetch(
        FetchParams params, long offset, Optional<Integer> leaderEpoch, Optional<Integer> lastEpoch,
        Consumer<FetchPartitionData> answer
    ) {
        ReplicaManager replicas = broker.replicas();
        var partition = new FetchRequest.PartitionData(Topic.ID, offset, 0, MAX_BYTES, leaderEpoch, lastEpoch);
        replicas.fetchMessages(params, seq(new Tuple2<>(Topic.PARTITION_WITH_ID, partition)), QuotaFactory.UNBOUNDED_QUOTA,
            (Seq<Tuple2<TopicIdPartition, FetchPartitionData>> answered) -> {
                answer.accept(answered.head()._2());
                return BoxedUnit.UNIT;
            });
        replicas.tryCompleteActions();
    }

    private static Fetched fetched(FetchPartitionData data) {
        ObjectNode reply = JsonNodeFactory.instance.objectNode();
        if (data.error != Errors.NONE) {
            return new Fetched(reply.put("error", data.error.name()), MemoryRecords.EMPTY);
        }
        MemoryRecords records = TraceRecords.copy(data.records);
        if (data.divergingEpoch.isPresent()) {
            reply.putObject("diverging").put("epoch", data.divergingEpoch.get().epoch())
                .put("end_offset", data.divergingEpoch.get().endOffset());
        } else {
            reply.set("records", TraceRecords.written(records));
            if (data.logStartOffset != 0) {
                reply.put("log_start", data.logStartOffset);
            }
        }
        return new Fetched(reply.put("high_watermark", data.highWatermark), records);
    }

    /**
     * A client's DeleteRecords, as far as the leader itself goes: it does not wait for the followers.
     *
     * @return null where it worked
     */
    Reply deleteRecords(long offset) {
        try {
            broker.replicas().getPartitionOrException(Topic.PARTITION).deleteRecordsOnLeader(offset);
            return null;
        } catch (ApiException refused) {
            return Reply.ofThrown(refused);
        }
    }

    /** @param replica who asks; -1 for a client */
    Reply listOffsets(JsonNode body, int replica) {
        var partition = new ListOffsetsRequestData.ListOffsetsPartition().setPartitionIndex(0)
            .setCurrentLeaderEpoch(body.path("current_leader_epoch").asInt(NOT_SAID))
            .setTimestamp(switch (body.path("timestamp").asText()) {
                case "earliest" -> ListOffsetsRequest.EARLIEST_TIMESTAMP;
                case "latest" -> ListOffsetsRequest.LATEST_TIMESTAMP;
                default -> body.path("timestamp").asLong();
            });
        var topic = new ListOffsetsRequestData.ListOffsetsTopic().setName(Topic.NAME).setPartitions(List.of(partition));
        Pending<ListOffsetsResponseData.ListOffsetsPartitionResponse> pending = new Pending<>(late -> { });
        broker.replicas().fetchOffset(seq(topic), scala.collection.immutable.Set$.MODULE$.empty(),
            IsolationLevel.READ_UNCOMMITTED, replica, "", 0, ApiKeys.LIST_OFFSETS.latestVersion(),
            (error, asked) -> new ListOffsetsResponseData.ListOffsetsPartitionResponse()
                .setPartitionIndex(asked.partitionIndex()).setErrorCode(error.code()),
            topics -> pending.answer(List.copyOf(topics).get(0).partitions().get(0)), FOREVER_MS);
        var found = pending.takeOrWait();
        if (found.errorCode() != Errors.NONE.code()) {
            return Reply.of(Errors.forCode(found.errorCode()));
        }
        ObjectNode answer = JsonNodeFactory.instance.objectNode().put("offset", found.offset());
        if (found.leaderEpoch() >= 0) {
            answer.put("epoch", found.leaderEpoch());
        }
        return Reply.of(answer);
    }

    Reply offsetForLeaderEpoch(JsonNode body) {
        var partition = new OffsetForLeaderEpochRequestData.OffsetForLeaderPartition().setPartition(0)
            .setLeaderEpoch(body.path("epoch").asInt())
            .setCurrentLeaderEpoch(body.path("current_leader_epoch").asInt(NOT_SAID));
        var topic = new OffsetForLeaderEpochRequestData.OffsetForLeaderTopic().setTopic(Topic.NAME)
            .setPartitions(List.of(partition));
        OffsetForLeaderEpochResponseData.EpochEndOffset end =
            broker.replicas().lastOffsetForLeaderEpoch(seq(topic)).head().partitions().get(0);
        if (end.errorCode() != Errors.NONE.code()) {
            return Reply.of(Errors.forCode(end.errorCode()));
        }
        return Reply.of(JsonNodeFactory.instance.objectNode()
            .put("epoch", end.leaderEpoch()).put("end_offset", end.endOffset()));
    }

    private static Optional<Integer> said(JsonNode body, String field) {
        int epoch = body.path(field).asInt(NOT_SAID);
        return epoch == NOT_SAID ? Optional.empty() : Optional.of(epoch);
    }

    private static <T> Seq<T> seq(T only) {
        return CollectionConverters.asScala(List.of(only)).toSeq();
    }

    /** An answer that comes while the request is handled, or later. */
    private static final class Pending<T> {
        private final Consumer<T> whenLate;
        private T answer;
        private boolean isLate;

        Pending(Consumer<T> whenLate) {
            this.whenLate = whenLate;
        }

        void answer(T given) {
            if (isLate) {
                whenLate.accept(given);
            } else {
                answer = given;
            }
        }

        /** What has come; null where it comes later. */
        T takeOrWait() {
            isLate = true;
            return answer;
        }
    }
}
