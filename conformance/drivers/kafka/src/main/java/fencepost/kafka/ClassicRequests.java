package fencepost.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.HeartbeatResponseData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Utils;

/**
 * What a member of the classic protocol sends to a group of the consumer protocol, and gets back (2.11).
 *
 * <p>A real client joins twice: first without an id, to be given one, then with it. The coordinator keeps nothing of the
 * first, so here a member joins at once with an id of its own choice. Only a static member that the group does not know
 * has to join with an empty one.
 */
final class ClassicRequests {
    private static final String PROTOCOL_TYPE = "consumer";
    private static final String PROTOCOL = "range";
    private static final int SESSION_TIMEOUT_MS = 45_000;
    private static final int REBALANCE_TIMEOUT_MS = 300_000;

    private final List<String> configuredTopics;

    ClassicRequests(List<String> configuredTopics) {
        this.configuredTopics = configuredTopics;
    }

    JoinGroupRequestData join(JsonNode operation, String memberId) {
        List<String> topics = operation.hasNonNull(
            "topics") ? Requests.words(operation.get("topics")) : configuredTopics;
        List<TopicPartition> owned = new ArrayList<>();
        Requests.partitions(Requests.words(operation.path("owned")))
            .forEach((name, partitions) -> partitions.forEach(partition -> owned.add(new TopicPartition(name, partition))));
        ByteBuffer subscription =
            ConsumerProtocol.serializeSubscription(new ConsumerPartitionAssignor.Subscription(topics, null, owned));
        JoinGroupRequestData.JoinGroupRequestProtocolCollection protocols =
            new JoinGroupRequestData.JoinGroupRequestProtocolCollection();
        protocols.add(new JoinGroupRequestData.JoinGroupRequestProtocol()
            .setName(PROTOCOL)
            .setMetadata(Utils.toArray(subscription)));
        return new JoinGroupRequestData()
            .setGroupId(Requests.GROUP)
            .setMemberId(memberId)
            .setGroupInstanceId(Requests.word(operation, "instance"))
            .setProtocolType(PROTOCOL_TYPE)
            .setProtocols(protocols)
            .setSessionTimeoutMs(SESSION_TIMEOUT_MS)
            .setRebalanceTimeoutMs(REBALANCE_TIMEOUT_MS);
    }

    SyncGroupRequestData sync(JsonNode operation, String memberId) {
        return new SyncGroupRequestData()
            .setGroupId(Requests.GROUP)
            .setMemberId(memberId)
            .setGroupInstanceId(Requests.word(operation, "instance"))
            .setGenerationId(operation.path("generation").asInt())
            .setProtocolType(PROTOCOL_TYPE)
            .setProtocolName(PROTOCOL);
    }

    HeartbeatRequestData heartbeat(JsonNode operation, String memberId) {
        return new HeartbeatRequestData()
            .setGroupId(Requests.GROUP)
            .setMemberId(memberId)
            .setGroupInstanceId(Requests.word(operation, "instance"))
            .setGenerationId(operation.path("generation").asInt());
    }

    static Reply joined(JoinGroupResponseData response) {
        return replyUnless(response.errorCode(), () ->
            Reply.of(JsonNodeFactory.instance.objectNode().put("generation", response.generationId())));
    }

    static Reply synced(SyncGroupResponseData response) {
        return replyUnless(response.errorCode(), () -> {
            TreeSet<String> assigned = new TreeSet<>();
            ConsumerProtocol.deserializeAssignment(ByteBuffer.wrap(response.assignment())).partitions()
                .forEach(partition -> assigned.add(partition.topic() + "-" + partition.partition()));
            return Reply.of(JsonNodeFactory.instance.objectNode().set("assigned", Answers.array(assigned)));
        });
    }

    static Reply heard(HeartbeatResponseData response) {
        return replyUnless(response.errorCode(), Answers::empty);
    }

    private static Reply replyUnless(short errorCode, Supplier<Reply> reply) {
        return errorCode == Errors.NONE.code() ? reply.get() : Reply.of(Errors.forCode(errorCode));
    }
}
