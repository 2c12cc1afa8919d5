package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.HeartbeatRequest;
import org.apache.kafka.common.requests.HeartbeatResponse;
import org.apache.kafka.common.requests.JoinGroupRequest;
import org.apache.kafka.common.requests.JoinGroupResponse;
import org.apache.kafka.common.requests.SyncGroupRequest;
import org.apache.kafka.common.requests.SyncGroupResponse;

/**
 * {@code join_group}, {@code sync_group} and {@code classic_heartbeat}: members of the group that speak the protocol from
 * before KIP-848 (docs/fencing.md 2.11).
 */
final class ClassicMembers {
    private static final String PROTOCOL_TYPE = "consumer";
    private static final String PROTOCOL = "range";
    /** The longest that the broker allows: no session ends while a trace is replayed. */
    private static final int SESSION_TIMEOUT_MS = 1_800_000;
    private static final int REBALANCE_TIMEOUT_MS = 300_000;

    private final Connection connection;
    private final String group;
    private final TraceTopics topics;

    ClassicMembers(Connection connection, String group, TraceTopics topics) {
        this.connection = connection;
        this.group = group;
        this.topics = topics;
    }

    Outcome join(JsonNode operation) throws IOException {
        if (Operation.instance(operation) != null) {
            return new Outcome.Skipped("the broker chooses the id of a static member that joins with JoinGroup");
        }
        List<TopicPartition> owned = new ArrayList<>();
        operation.path("owned").forEach(text -> {
            TracePartition partition = TracePartition.parse(text.asText());
            owned.add(new TopicPartition(topics.name(partition.topic()), partition.number()));
        });
        Collection<String> subscribed = topics.all();
        if (operation.hasNonNull("topics")) {
            subscribed = new ArrayList<>();
            for (JsonNode topic : operation.get("topics")) {
                subscribed.add(topic.asText());
            }
        }
        ByteBuffer metadata = ConsumerProtocol.serializeSubscription(
                new Subscription(topics.subscription(subscribed), null, owned));
        JoinGroupRequestData.JoinGroupRequestProtocolCollection protocols =
                new JoinGroupRequestData.JoinGroupRequestProtocolCollection();
        protocols.add(new JoinGroupRequestData.JoinGroupRequestProtocol()
                .setName(PROTOCOL).setMetadata(bytes(metadata)));
        JoinGroupResponseData response = connection.exchange(new JoinGroupRequest.Builder(new JoinGroupRequestData()
                .setGroupId(group)
                .setMemberId(operation.path("member").asText())
                .setSessionTimeoutMs(SESSION_TIMEOUT_MS)
                .setRebalanceTimeoutMs(REBALANCE_TIMEOUT_MS)
                .setProtocolType(PROTOCOL_TYPE)
                .setProtocols(protocols)), JoinGroupResponse.class).data();
        return outcome(response.errorCode(),
                JsonNodeFactory.instance.objectNode().put("generation", response.generationId()));
    }

    Outcome sync(JsonNode operation) throws IOException {
        SyncGroupResponseData response = connection.exchange(new SyncGroupRequest.Builder(new SyncGroupRequestData()
                .setGroupId(group)
                .setMemberId(operation.path("member").asText())
                .setGroupInstanceId(Operation.instance(operation))
                .setGenerationId(operation.path("generation").asInt())
                .setProtocolType(PROTOCOL_TYPE)
                .setProtocolName(PROTOCOL)
                .setAssignments(List.of())), SyncGroupResponse.class).data();
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        ArrayNode assigned = answer.putArray("assigned");
        if (response.errorCode() == Errors.NONE.code()) {
            TreeSet<TracePartition> partitions = new TreeSet<>();
            ConsumerProtocol.deserializeAssignment(ByteBuffer.wrap(response.assignment())).partitions().forEach(
                    partition -> partitions.add(
                            new TracePartition(topics.traceName(null, partition.topic()), partition.partition())));
            partitions.forEach(partition -> assigned.add(partition.toString()));
        }
        return outcome(response.errorCode(), answer);
    }

    Outcome heartbeat(JsonNode operation) throws IOException {
        HeartbeatResponse response = connection.exchange(new HeartbeatRequest.Builder(new HeartbeatRequestData()
                .setGroupId(group)
                .setMemberId(operation.path("member").asText())
                .setGroupInstanceId(Operation.instance(operation))
                .setGenerationId(operation.path("generation").asInt())), HeartbeatResponse.class);
        return outcome(response.data().errorCode(), JsonNodeFactory.instance.objectNode());
    }

    private static Outcome outcome(short code, ObjectNode answer) {
        Errors error = Errors.forCode(code);
        return error == Errors.NONE ? new Outcome.Done(answer) : new Outcome.Refused(error);
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }
}
