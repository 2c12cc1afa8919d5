package fencepost.kafka.replication;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import kafka.server.ReplicaManager;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/** Where the brokers' classes differ between the releases of Kafka, and the only file that knows it. */
final class ReplicaRelease {
    private ReplicaRelease() {
    }

    /** {@code ReplicaManager#appendRecords}. */
    static void append(
        ReplicaManager replicas, long timeoutMs, short acks, AppendOrigin origin, MemoryRecords records,
        Consumer<ProduceResponse.PartitionResponse> answer
    ) {
        scala.collection.Map<TopicIdPartition, MemoryRecords> batch =
            CollectionConverters.asScala(Map.of(Topic.PARTITION_WITH_ID, records));
        replicas.appendRecords(timeoutMs, acks, false, origin, batch,
            (Map<TopicIdPartition, ProduceResponse.PartitionResponse> statuses) -> {
                answer.accept(statuses.get(Topic.PARTITION_WITH_ID));
                return BoxedUnit.UNIT;
            },
            statistics -> BoxedUnit.UNIT, replicas.appendRecords$default$8(), replicas.appendRecords$default$9(),
            replicas.appendRecords$default$10());
    }

    /** {@code ReplicaManager#fetchOffset}. */
    static void listOffsets(
        ReplicaManager replicas, ListOffsetsRequestData.ListOffsetsTopic topic, IsolationLevel isolation, int replica,
        short version, Consumer<ListOffsetsResponseData.ListOffsetsPartitionResponse> answer
    ) {
        replicas.fetchOffset(ServedRequests.seq(topic), scala.collection.immutable.Set$.MODULE$.empty(), isolation, replica, "", 0,
            version,
            (error, partition) -> new ListOffsetsResponseData.ListOffsetsPartitionResponse()
                .setPartitionIndex(partition.partitionIndex()).setErrorCode(error.code()),
            topics -> answer.accept(List.copyOf(topics).get(0).partitions().get(0)), Integer.MAX_VALUE);
    }
}
