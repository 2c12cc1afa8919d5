package fencepost.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/**
 * A trace's operations as Kafka's own requests, filled in as {@code KafkaApis} hands them to the coordinator: names and
 * ids of topics both resolved.
 */
final class Requests {
    static final String GROUP = "g";
    private static final int FIVE_MINUTES_MS = 300_000;
    private static final int UNCHANGED = -1;

    private final ClusterMetadata cluster;
    private final List<String> configuredTopics;

    /** @param configuredTopics what a join subscribes to that does not say */
    Requests(ClusterMetadata cluster, List<String> configuredTopics) {
        this.cluster = cluster;
        this.configuredTopics = configuredTopics;
    }

    /** The context of a request; the version is what the operation says, or the newest that this release has. */
    static RequestContext context(ApiKeys api, JsonNode operation) {
        short newest = api.latestVersion();
        return context(api, operation.hasNonNull("version") ? (short) operation.get("version").asInt() : newest);
    }

    static RequestContext context(ApiKeys api, short version) {
        return new RequestContext(
            new RequestHeader(api, version, "fencepost", 0), "connection", InetAddress.getLoopbackAddress(),
            KafkaPrincipal.ANONYMOUS, ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT),
            SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, false);
    }

    ConsumerGroupHeartbeatRequestData heartbeat(JsonNode operation, String memberId) {
        boolean joins = operation.path("epoch").asInt() == 0;
        List<String> subscription = null;
        if (operation.hasNonNull("topics")) {
            subscription = words(operation.get("topics"));
        } else if (joins) {
            subscription = configuredTopics;
        }
        return new ConsumerGroupHeartbeatRequestData()
            .setGroupId(GROUP)
            .setMemberId(memberId)
            .setMemberEpoch(operation.path("epoch").asInt())
            .setInstanceId(word(operation, "instance"))
            .setRebalanceTimeoutMs(operation.path("rebalance_timeout_ms").asInt(joins ? FIVE_MINUTES_MS : UNCHANGED))
            .setSubscribedTopicNames(subscription)
            .setServerAssignor(word(operation, "assignor"))
            .setTopicPartitions(operation.hasNonNull("owned") ? owned(operation.get("owned")) : null);
    }

    ConsumerGroupHeartbeatRequestData leave(JsonNode operation, String memberId) {
        return new ConsumerGroupHeartbeatRequestData()
            .setGroupId(GROUP)
            .setMemberId(memberId)
            .setMemberEpoch(operation.path("epoch").asInt())
            .setInstanceId(word(operation, "instance"));
    }

    OffsetCommitRequestData commit(JsonNode operation, String memberId) {
        List<OffsetCommitRequestData.OffsetCommitRequestTopic> topics = new ArrayList<>();
        byTopic(operation.path("offsets")).forEach((name, offsets) -> {
            List<OffsetCommitRequestData.OffsetCommitRequestPartition> partitions = new ArrayList<>();
            offsets.forEach((partition, offset) -> partitions.add(new OffsetCommitRequestData.OffsetCommitRequestPartition()
                .setPartitionIndex(partition)
                .setCommittedOffset(offset.offset())
                .setCommittedLeaderEpoch(offset.leaderEpoch())
                .setCommittedMetadata(offset.metadata())));
            topics.add(new OffsetCommitRequestData.OffsetCommitRequestTopic()
                .setName(name)
                .setTopicId(cluster.topic(name).id())
                .setPartitions(partitions));
        });
        return new OffsetCommitRequestData()
            .setGroupId(GROUP)
            .setMemberId(memberId)
            .setGenerationIdOrMemberEpoch(operation.path("epoch").asInt())
            .setGroupInstanceId(word(operation, "instance"))
            .setTopics(topics);
    }

    TxnOffsetCommitRequestData txnCommit(JsonNode operation, String memberId, long producerId) {
        List<TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic> topics = new ArrayList<>();
        byTopic(operation.path("offsets")).forEach((name, offsets) -> {
            List<TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition> partitions = new ArrayList<>();
            offsets.forEach((partition, offset) -> partitions.add(
                new TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition()
                    .setPartitionIndex(partition)
                    .setCommittedOffset(offset.offset())
                    .setCommittedLeaderEpoch(offset.leaderEpoch())
                    .setCommittedMetadata(offset.metadata())));
            var topic = new TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic().setName(name).setPartitions(partitions);
            KafkaRelease.setTopicId(topic, cluster.topic(name).id());
            topics.add(topic);
        });
        TxnOffsetCommitRequestData request = new TxnOffsetCommitRequestData()
            .setTransactionalId(operation.path("producer").asText())
            .setGroupId(GROUP)
            .setProducerId(producerId)
            .setProducerEpoch(CoordinatorLog.FIRST_PRODUCER_EPOCH)
            .setMemberId(memberId)
            .setGroupInstanceId(word(operation, "instance"))
            .setTopics(topics);
        KafkaRelease.setEpoch(request, operation.path("epoch").asInt());
        return request;
    }

    OffsetFetchRequestData.OffsetFetchRequestGroup fetch(JsonNode operation, String memberId) {
        List<OffsetFetchRequestData.OffsetFetchRequestTopics> topics = new ArrayList<>();
        partitions(words(operation.path("partitions"))).forEach((name, partitions) ->
            topics.add(new OffsetFetchRequestData.OffsetFetchRequestTopics()
                .setName(name)
                .setTopicId(existing(name).id())
                .setPartitionIndexes(partitions)));
        return new OffsetFetchRequestData.OffsetFetchRequestGroup()
            .setGroupId(GROUP)
            .setMemberId(memberId)
            .setMemberEpoch(operation.path("epoch").asInt())
            .setTopics(topics);
    }

    /** The ids of the topics with their partitions, as an assignor answers them. */
    Map<Uuid, Set<Integer>> assignment(JsonNode array) {
        Map<Uuid, Set<Integer>> assignment = new LinkedHashMap<>();
        partitions(words(array)).forEach((name, partitions) -> assignment.put(existing(name).id(), new TreeSet<>(partitions)));
        return assignment;
    }

    List<ConsumerGroupHeartbeatRequestData.TopicPartitions> owned(JsonNode array) {
        List<ConsumerGroupHeartbeatRequestData.TopicPartitions> owned = new ArrayList<>();
        partitions(words(array)).forEach((name, partitions) -> owned.add(new ConsumerGroupHeartbeatRequestData.TopicPartitions()
            .setTopicId(existing(name).id())
            .setPartitions(partitions)));
        return owned;
    }

    /** {@code [t-0, t-1, u-0]} as t: 0, 1 and u: 0, in order. */
    static Map<String, List<Integer>> partitions(Iterable<String> words) {
        Map<String, List<Integer>> partitions = new TreeMap<>();
        for (String word : words) {
            TopicPartition partition = partition(word);
            partitions.computeIfAbsent(partition.topic(), name -> new ArrayList<>()).add(partition.partition());
        }
        return partitions;
    }

    static List<String> words(JsonNode array) {
        List<String> words = new ArrayList<>();
        array.forEach(word -> words.add(word.asText()));
        return words;
    }

    /** The word, null where the operation leaves it out. */
    static String word(JsonNode operation, String field) {
        return operation.hasNonNull(field) ? operation.get(field).asText() : null;
    }

    private Map<String, Map<Integer, Offset>> byTopic(JsonNode offsets) {
        Map<String, Map<Integer, Offset>> topics = new TreeMap<>();
        offsets.fields().forEachRemaining(entry -> {
            TopicPartition partition = partition(entry.getKey());
            if (partition.partition() >= existing(partition.topic()).partitions()) {
                throw new Skipped(inFrontOfTheShard(entry.getKey()));
            }
            topics.computeIfAbsent(partition.topic(), name -> new TreeMap<>())
                .put(partition.partition(), Offset.of(entry.getValue()));
        });
        return topics;
    }

    private ClusterMetadata.Topic existing(String name) {
        ClusterMetadata.Topic topic = cluster.topic(name);
        if (topic == null) {
            throw new Skipped(inFrontOfTheShard(name));
        }
        return topic;
    }

    private static String inFrontOfTheShard(String name) {
        return "there is no " + name + ", which Kafka sees in front of the coordinator's shard (3.1)";
    }

    private static TopicPartition partition(String word) {
        int dash = word.lastIndexOf('-');
        return new TopicPartition(word.substring(0, dash), Integer.parseInt(word.substring(dash + 1)));
    }
}
