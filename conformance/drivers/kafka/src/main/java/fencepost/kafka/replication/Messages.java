package fencepost.kafka.replication;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.Skipped;
import java.util.LinkedHashMap;
import java.util.List;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FetchMetadata;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.common.requests.ListOffsetsResponse;
import org.apache.kafka.common.requests.OffsetsForLeaderEpochRequest;
import org.apache.kafka.common.requests.OffsetsForLeaderEpochResponse;

/** Kafka's messages between brokers, and to the controller, as a trace writes them. */
final class Messages {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    private static final int NOT_SAID = -1;

    private Messages() {
    }

    /** A follower's request. */
    static ObjectNode request(String to, AbstractRequest request) {
        ObjectNode message = JSON.objectNode().put("to", to);
        if (request instanceof FetchRequest fetch) {
            var partition = fetch.fetchData(Topic.NAMES).values().iterator().next();
            ObjectNode body = message.putObject("fetch")
                .put("offset", partition.fetchOffset)
                .put("last_fetched_epoch", partition.lastFetchedEpoch.orElse(NOT_SAID))
                .put("current_leader_epoch", partition.currentLeaderEpoch.orElse(NOT_SAID));
            putBrokerEpoch(body, fetch.replicaEpoch());
        } else if (request instanceof ListOffsetsRequest list) {
            ListOffsetsRequestData.ListOffsetsPartition partition = list.data().topics().get(0).partitions().get(0);
            message.putObject("list_offsets")
                .put("timestamp",
                    partition.timestamp() == ListOffsetsRequest.LATEST_TIMESTAMP ? "latest" : "earliest")
                .put("current_leader_epoch", partition.currentLeaderEpoch());
        } else if (request instanceof OffsetsForLeaderEpochRequest ask) {
            OffsetForLeaderEpochRequestData.OffsetForLeaderPartition partition =
                ask.data().topics().iterator().next().partitions().get(0);
            message.putObject("offset_for_leader_epoch")
                .put("epoch", partition.leaderEpoch())
                .put("current_leader_epoch", partition.currentLeaderEpoch());
        } else {
            throw new IllegalStateException("a broker sends " + request);
        }
        return message;
    }

    /** A leader's proposal to the controller. */
    static ObjectNode proposal(AlterPartitionRequestData request, BrokerNames names) {
        AlterPartitionRequestData.PartitionData partition = request.topics().get(0).partitions().get(0);
        ObjectNode message = JSON.objectNode().put("to", "controller");
        ObjectNode body = message.putObject("alter_partition")
            .put("leader_epoch", partition.leaderEpoch())
            .put("partition_epoch", partition.partitionEpoch());
        putBrokerEpoch(body, request.brokerEpoch());
        ObjectNode isr = body.putObject("isr");
        partition.newIsrWithEpochs().forEach(member -> isr.put(names.name(member.brokerId()), member.brokerEpoch()));
        return message;
    }

    private static void putBrokerEpoch(ObjectNode body, long epoch) {
        if (epoch != ClusterImage.FIRST_BROKER_EPOCH) {
            body.put("broker_epoch", epoch);
        }
    }

    /**
     * What a leader answers to a follower's request.
     *
     * @param records the batches of a fetch's answer; null to make them
     */
    static AbstractResponse response(AbstractRequest request, JsonNode message, MemoryRecords records) {
        if (request instanceof FetchRequest fetch && message.has("fetch_reply")) {
            return fetchResponse(fetch, message.get("fetch_reply"), records);
        } else if (request instanceof ListOffsetsRequest && message.has("list_offsets_reply")) {
            JsonNode reply = message.get("list_offsets_reply");
            return new ListOffsetsResponse(new ListOffsetsResponseData().setTopics(List.of(
                new ListOffsetsResponseData.ListOffsetsTopicResponse().setName(Topic.NAME).setPartitions(List.of(
                    new ListOffsetsResponseData.ListOffsetsPartitionResponse().setPartitionIndex(0)
                        .setErrorCode(error(reply).code()).setOffset(reply.path("offset").asLong(NOT_SAID)))))));
        } else if (request instanceof OffsetsForLeaderEpochRequest && message.has("offset_for_leader_epoch_reply")) {
            JsonNode reply = message.get("offset_for_leader_epoch_reply");
            if (reply.has("epoch") && reply.get("epoch").isNull()) {
                throw new Skipped("Kafka of today has no answer without an epoch");
            }
            var topic = new OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResult().setTopic(Topic.NAME)
                .setPartitions(List.of(new OffsetForLeaderEpochResponseData.EpochEndOffset().setPartition(0)
                    .setErrorCode(error(reply).code()).setLeaderEpoch(reply.path("epoch").asInt(NOT_SAID))
                    .setEndOffset(reply.path("end_offset").asLong(NOT_SAID))));
            OffsetForLeaderEpochResponseData data = new OffsetForLeaderEpochResponseData();
            data.topics().add(topic);
            return new OffsetsForLeaderEpochResponse(data);
        }
        throw new IllegalArgumentException("the message does not answer " + request.apiKey());
    }

    private static FetchResponse fetchResponse(FetchRequest request, JsonNode reply, MemoryRecords records) {
        var partition = new FetchResponseData.PartitionData().setPartitionIndex(0)
            .setErrorCode(error(reply).code())
            .setHighWatermark(reply.path("high_watermark").asLong(NOT_SAID))
            .setLogStartOffset(reply.path("log_start").asLong(reply.has("error") ? NOT_SAID : 0))
            .setRecords(MemoryRecords.EMPTY);
        if (reply.has("diverging")) {
            partition.setDivergingEpoch(new FetchResponseData.EpochEndOffset()
                .setEpoch(reply.get("diverging").path("epoch").asInt())
                .setEndOffset(reply.get("diverging").path("end_offset").asLong()));
        } else if (reply.has("records")) {
            long from = request.fetchData(Topic.NAMES).values().iterator().next().fetchOffset;
            partition.setRecords(records != null ? records : TraceRecords.batches(reply.get("records"), from));
        }
        LinkedHashMap<org.apache.kafka.common.TopicIdPartition, FetchResponseData.PartitionData> partitions =
            new LinkedHashMap<>();
        partitions.put(Topic.PARTITION_WITH_ID, partition);
        return FetchResponse.of(Errors.NONE, 0, FetchMetadata.INVALID_SESSION_ID, partitions, List.of());
    }

    /** What the controller answers to a proposal. A broker that is not the one it was is refused as a whole. */
    static AlterPartitionResponseData controllerResponse(JsonNode reply, BrokerNames names) {
        Errors error = error(reply);
        if (error == Errors.STALE_BROKER_EPOCH || error == Errors.CLUSTER_AUTHORIZATION_FAILED) {
            return new AlterPartitionResponseData().setErrorCode(error.code());
        }
        var partition = new AlterPartitionResponseData.PartitionData().setPartitionIndex(0).setErrorCode(error.code());
        if (error == Errors.NONE) {
            partition.setLeaderId(names.idOrNobody(reply.get("leader")))
                .setLeaderEpoch(reply.path("leader_epoch").asInt())
                .setIsr(names.ids(reply.path("isr")))
                .setPartitionEpoch(reply.path("partition_epoch").asInt());
        }
        return new AlterPartitionResponseData().setTopics(List.of(
            new AlterPartitionResponseData.TopicData().setTopicId(Topic.ID).setPartitions(List.of(partition))));
    }

    private static Errors error(JsonNode reply) {
        return reply.has("error") ? Errors.valueOf(reply.get("error").asText()) : Errors.NONE;
    }
}
