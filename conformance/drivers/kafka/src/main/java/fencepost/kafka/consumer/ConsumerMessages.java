package fencepost.kafka.consumer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.replication.BrokerNames;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.common.requests.ListOffsetsResponse;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.requests.OffsetsForLeaderEpochRequest;
import org.apache.kafka.common.requests.OffsetsForLeaderEpochResponse;

/** A consumer's messages as a trace writes them, and as Kafka has them. */
final class ConsumerMessages {
    static final String TOPIC = "t";
    private static final int NOT_SAID = -1;
    private static final int FIRST_TOPIC_ID = 1;
    private static final long TOPIC_IDS = 7;
    private static final String HOST = "localhost";

    private final BrokerNames names;
    private final ReadRecords records;

    ConsumerMessages(BrokerNames names, ReadRecords records) {
        this.names = names;
        this.records = records;
    }

    static Uuid topicId(int written) {
        return new Uuid(TOPIC_IDS, written);
    }

    /** A request that the consumer sent. */
    ObjectNode request(String destination, AbstractRequest body) {
        ObjectNode written = JsonNodeFactory.instance.objectNode().put("to", names.name(Integer.parseInt(destination)));
        if (body instanceof FetchRequest fetch) {
            var topic = fetch.data().topics().get(0);
            var partition = topic.partitions().get(0);
            ObjectNode content = written.putObject("fetch").put("offset", partition.fetchOffset())
                .put("current_leader_epoch", partition.currentLeaderEpoch());
            if (partition.lastFetchedEpoch() != NOT_SAID) {
                content.put("last_epoch", partition.lastFetchedEpoch());
            }
            long topicId = topic.topicId().getLeastSignificantBits();
            if (topicId > FIRST_TOPIC_ID) {
                content.put("topic_id", topicId);
            }
        } else if (body instanceof OffsetsForLeaderEpochRequest asked) {
            var partition = asked.data().topics().iterator().next().partitions().get(0);
            written.putObject("offset_for_leader_epoch").put("epoch", partition.leaderEpoch())
                .put("current_leader_epoch", partition.currentLeaderEpoch());
        } else if (body instanceof ListOffsetsRequest asked) {
            var partition = asked.data().topics().get(0).partitions().get(0);
            ObjectNode content = written.putObject("list_offsets");
            if (partition.timestamp() == ListOffsetsRequest.EARLIEST_TIMESTAMP) {
                content.put("timestamp", "earliest");
            } else if (partition.timestamp() == ListOffsetsRequest.LATEST_TIMESTAMP) {
                content.put("timestamp", "latest");
            } else {
                content.put("timestamp", partition.timestamp());
            }
            content.put("current_leader_epoch", partition.currentLeaderEpoch());
        } else {
            throw new IllegalStateException("the consumer sent " + body.apiKey());
        }
        return written;
    }

    /** The answer to a request, as the trace has it. */
    AbstractResponse response(AbstractRequest request, JsonNode content) {
        if (request instanceof FetchRequest fetch) {
            return fetched(fetch, content.get("fetch_reply"));
        }
        if (request instanceof OffsetsForLeaderEpochRequest) {
            return epochEnd(content.get("offset_for_leader_epoch_reply"));
        }
        return offset(content.get("list_offsets_reply"));
    }

    private FetchResponse fetched(FetchRequest request, JsonNode reply) {
        var data = new FetchResponseData.PartitionData().setPartitionIndex(0).setErrorCode(error(reply).code())
            .setHighWatermark(reply.path("high_watermark").asLong(NOT_SAID))
            .setLastStableOffset(reply.path("high_watermark").asLong(NOT_SAID))
            .setLogStartOffset(0)
            .setRecords(records.batches(reply.path("records")));
        reply.path("aborted").forEach(aborted -> data.abortedTransactions().add(new FetchResponseData.AbortedTransaction()
            .setProducerId(records.producerId(aborted.get(0).asText())).setFirstOffset(aborted.get(1).asLong())));
        if (reply.hasNonNull("preferred_replica")) {
            data.setPreferredReadReplica(names.id(reply.get("preferred_replica").asText()));
        }
        var asked = request.data().topics().get(0);
        return FetchResponse.of(new FetchResponseData().setResponses(List.of(new FetchResponseData.FetchableTopicResponse()
            .setTopic(TOPIC).setTopicId(asked.topicId()).setPartitions(List.of(data)))));
    }

    private static OffsetsForLeaderEpochResponse epochEnd(JsonNode reply) {
        var end = new OffsetForLeaderEpochResponseData.EpochEndOffset().setPartition(0).setErrorCode(error(reply).code())
            .setLeaderEpoch(reply.path("epoch").asInt(NOT_SAID)).setEndOffset(reply.path("end_offset").asLong(NOT_SAID));
        var topic = new OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResult().setTopic(TOPIC).setPartitions(List.of(end));
        var data = new OffsetForLeaderEpochResponseData();
        data.topics().add(topic);
        return new OffsetsForLeaderEpochResponse(data);
    }

    private static ListOffsetsResponse offset(JsonNode reply) {
        var found = new ListOffsetsResponseData.ListOffsetsPartitionResponse().setPartitionIndex(0)
            .setErrorCode(error(reply).code()).setOffset(reply.path("offset").asLong(NOT_SAID))
            .setLeaderEpoch(reply.path("epoch").asInt(NOT_SAID));
        return new ListOffsetsResponse(new ListOffsetsResponseData().setTopics(List.of(
            new ListOffsetsResponseData.ListOffsetsTopicResponse().setName(TOPIC).setPartitions(List.of(found)))));
    }

    /** What the cluster says of itself. Every broker has a replica. */
    MetadataResponse metadata(JsonNode written, short version) {
        MetadataResponseData data = new MetadataResponseData().setClusterId("cluster").setControllerId(1);
        List<Integer> ids = names.ids();
        ids.forEach(id -> data.brokers().add(new MetadataResponseData.MetadataResponseBroker()
            .setNodeId(id).setHost(HOST).setPort(ConsumerTrace.FIRST_PORT + id)));
        int leader = names.idOrNobody(written.get("leader"));
        Errors error = leader == NOT_SAID ? Errors.LEADER_NOT_AVAILABLE : Errors.NONE;
        var partition = new MetadataResponseData.MetadataResponsePartition().setPartitionIndex(0).setErrorCode(error.code())
            .setLeaderId(leader).setLeaderEpoch(written.path("leader_epoch").asInt(NOT_SAID))
            .setReplicaNodes(ids).setIsrNodes(ids);
        data.topics().add(new MetadataResponseData.MetadataResponseTopic().setName(TOPIC)
            .setTopicId(topicId(written.path("topic_id").asInt(FIRST_TOPIC_ID))).setPartitions(List.of(partition)));
        return new MetadataResponse(data, version);
    }

    private static Errors error(JsonNode reply) {
        return reply.hasNonNull("error") ? Errors.valueOf(reply.get("error").asText()) : Errors.NONE;
    }
}
