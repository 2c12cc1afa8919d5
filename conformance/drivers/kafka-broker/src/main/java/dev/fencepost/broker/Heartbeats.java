package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatRequest;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatResponse;

/**
 * {@code heartbeat} and {@code leave} as {@code ConsumerGroupHeartbeat} requests (docs/fencing.md 2). All members'
 * heartbeats go over one connection, in the order of the trace.
 */
final class Heartbeats {
    private static final int NOT_SAID = -1;
    private static final int DEFAULT_REBALANCE_TIMEOUT_MS = 300_000;
    /** No timer runs out in a trace but by name; on this clock a short one could. */
    private static final int LEAST_REBALANCE_TIMEOUT_MS = 60_000;

    private final Connection connection;
    private final String group;
    private final TraceTopics topics;
    private final AssignmentInterval interval;

    Heartbeats(Connection connection, String group, TraceTopics topics, AssignmentInterval interval) {
        this.connection = connection;
        this.group = group;
        this.topics = topics;
        this.interval = interval;
    }

    Outcome heartbeat(JsonNode operation) throws IOException {
        long sent = System.nanoTime();
        if (interval.mayHavePassed(sent)) {
            return tooSlow();
        }
        ConsumerGroupHeartbeatResponseData response = exchange(request(operation), Operation.version(operation, newest()));
        long answered = System.nanoTime();
        if (interval.mayHavePassed(answered)) {
            return tooSlow();
        }
        Errors error = Errors.forCode(response.errorCode());
        if (error != Errors.NONE) {
            return new Outcome.Refused(error);
        }
        interval.heartbeat(sent, answered);
        ObjectNode answer = JsonNodeFactory.instance.objectNode().put("epoch", response.memberEpoch());
        answer.set("assigned", assigned(response));
        return new Outcome.Done(answer);
    }

    Outcome leave(JsonNode operation) throws IOException {
        ConsumerGroupHeartbeatRequestData data = identity(operation);
        ConsumerGroupHeartbeatResponseData response = exchange(data, newest());
        Errors error = Errors.forCode(response.errorCode());
        if (error != Errors.NONE) {
            return new Outcome.Refused(error);
        }
        return new Outcome.Done(JsonNodeFactory.instance.objectNode().put("epoch", response.memberEpoch()));
    }

    private ConsumerGroupHeartbeatRequestData request(JsonNode operation) {
        boolean join = operation.path("epoch").asInt() == 0;
        ConsumerGroupHeartbeatRequestData data = identity(operation);
        data.setRebalanceTimeoutMs(rebalanceTimeout(operation, join));
        if (operation.has("topics")) {
            List<String> subscribed = new ArrayList<>();
            operation.get("topics").forEach(topic -> subscribed.add(topic.asText()));
            data.setSubscribedTopicNames(topics.subscription(subscribed));
        } else if (join) {
            data.setSubscribedTopicNames(topics.subscription(topics.all()));
        }
        data.setServerAssignor(operation.hasNonNull("assignor") ? operation.get("assignor").asText() : null);
        if (operation.hasNonNull("owned")) {
            List<ConsumerGroupHeartbeatRequestData.TopicPartitions> owned = new ArrayList<>();
            TracePartition.byTopic(operation.get("owned")).forEach((topic, numbers) -> owned.add(
                    new ConsumerGroupHeartbeatRequestData.TopicPartitions()
                            .setTopicId(topics.id(topic)).setPartitions(numbers)));
            data.setTopicPartitions(owned);
        }
        return data;
    }

    private ConsumerGroupHeartbeatRequestData identity(JsonNode operation) {
        return new ConsumerGroupHeartbeatRequestData()
                .setGroupId(group)
                .setMemberId(operation.path("member").asText())
                .setMemberEpoch(operation.path("epoch").asInt())
                .setInstanceId(Operation.instance(operation));
    }

    private static int rebalanceTimeout(JsonNode operation, boolean join) {
        if (!operation.has("rebalance_timeout_ms")) {
            return join ? DEFAULT_REBALANCE_TIMEOUT_MS : NOT_SAID;
        }
        int timeout = operation.get("rebalance_timeout_ms").asInt();
        return timeout > 0 ? Math.max(timeout, LEAST_REBALANCE_TIMEOUT_MS) : timeout;
    }

    private ConsumerGroupHeartbeatResponseData exchange(ConsumerGroupHeartbeatRequestData data, short version)
            throws IOException {
        return connection.exchange(new ConsumerGroupHeartbeatRequest.Builder(data), version,
                ConsumerGroupHeartbeatResponse.class).data();
    }

    private JsonNode assigned(ConsumerGroupHeartbeatResponseData response) {
        if (response.assignment() == null) {
            return JsonNodeFactory.instance.nullNode();
        }
        TreeSet<TracePartition> partitions = new TreeSet<>();
        response.assignment().topicPartitions().forEach(topic -> topic.partitions().forEach(
                number -> partitions.add(new TracePartition(topics.traceName(topic.topicId(), null), number))));
        ArrayNode assigned = JsonNodeFactory.instance.arrayNode();
        partitions.forEach(partition -> assigned.add(partition.toString()));
        return assigned;
    }

    private static short newest() {
        return Connection.newest(ApiKeys.CONSUMER_GROUP_HEARTBEAT);
    }

    private static Outcome tooSlow() {
        return new Outcome.Skipped("this machine was too slow: the assignment interval may have passed by itself");
    }
}
