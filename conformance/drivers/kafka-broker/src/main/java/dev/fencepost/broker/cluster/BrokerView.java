package dev.fencepost.broker.cluster;

import dev.fencepost.broker.Connection;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsPartition;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsTopic;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ElectLeadersRequest;
import org.apache.kafka.common.requests.ElectLeadersResponse;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.common.requests.ListOffsetsResponse;
import org.apache.kafka.common.requests.MetadataRequest;
import org.apache.kafka.common.requests.MetadataResponse;

/**
 * What one broker says of the cluster and of its own log. Kafka's clients ask whichever broker they like, and would hang on
 * one that is paused; here it matters who is asked. Each question has a connection of its own, and a broker that does not
 * answer within two seconds is an {@link IOException}.
 */
public final class BrokerView {
    private static final int TIMEOUT_MS = 2_000;

    private final int port;

    private BrokerView(int port) {
        this.port = port;
    }

    public static BrokerView of(Node broker) {
        return new BrokerView(broker.port());
    }

    /** The cluster, and the brokers that are alive for all that the asked one knows. */
    public record Members(String clusterId, Set<Integer> alive) {}

    /** A partition for all that the asked broker knows. */
    public record Leadership(int leader, int leaderEpoch, Set<Integer> isr) {}

    public Members members() throws IOException {
        MetadataResponseData data = ask(new MetadataRequest.Builder(List.of(), false), MetadataResponse.class).data();
        return new Members(data.clusterId(), data.brokers().stream()
                .map(MetadataResponseData.MetadataResponseBroker::nodeId).collect(Collectors.toCollection(TreeSet::new)));
    }

    /** Empty if the broker has not heard of the partition. */
    public Optional<Leadership> leadership(TopicPartition partition) throws IOException {
        MetadataResponse answer =
                ask(new MetadataRequest.Builder(List.of(partition.topic()), false), MetadataResponse.class);
        return answer.data().topics().stream().flatMap(topic -> topic.partitions().stream())
                .filter(found -> found.partitionIndex() == partition.partition())
                .map(found -> new Leadership(found.leaderId(), found.leaderEpoch(), new TreeSet<>(found.isrNodes())))
                .findFirst();
    }

    /**
     * Where its own log ends, whether it leads or follows. ListOffsets answers that to the replica id that Kafka keeps for
     * debugging; a consumer would be told the leader's high watermark.
     */
    public long logEnd(TopicPartition partition) throws IOException {
        ListOffsetsTopic topic = new ListOffsetsTopic().setName(partition.topic()).setPartitions(List.of(
                new ListOffsetsPartition().setPartitionIndex(partition.partition())
                        .setTimestamp(ListOffsetsRequest.LATEST_TIMESTAMP)));
        ListOffsetsResponse answer = ask(ListOffsetsRequest.Builder
                .forReplica(ApiKeys.LIST_OFFSETS.latestVersion(), ListOffsetsRequest.DEBUGGING_REPLICA_ID)
                .setTargetTimes(List.of(topic)), ListOffsetsResponse.class);
        var found = answer.topics().get(0).partitions().get(0);
        if (found.errorCode() != Errors.NONE.code()) {
            throw new IOException("asked where its log ends, the broker said " + Errors.forCode(found.errorCode()));
        }
        return found.offset();
    }

    /** Asks it to have the preferred leader elected, as Kafka's tool and Admin do, and tells what the controller said. */
    public Errors electPreferred(TopicPartition partition) throws IOException {
        ElectLeadersResponse answer = ask(
                new ElectLeadersRequest.Builder(ElectionType.PREFERRED, List.of(partition), TIMEOUT_MS),
                ElectLeadersResponse.class);
        return answer.data().replicaElectionResults().stream().flatMap(topic -> topic.partitionResult().stream())
                .map(result -> Errors.forCode(result.errorCode())).findFirst()
                .orElse(Errors.forCode(answer.data().errorCode()));
    }

    private <T extends AbstractResponse> T ask(AbstractRequest.Builder<?> request, Class<T> response) throws IOException {
        try (Connection connection = new Connection(port, "demonstration", TIMEOUT_MS)) {
            return connection.exchange(request, response);
        }
    }
}
