package fencepost.kafka.replication;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import kafka.cluster.Partition;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import scala.jdk.javaapi.CollectionConverters;

/** What can be seen of a broker's replica. */
final class ReplicaView {
    private static final int NO_LEADER_EPOCH = -1;
    private static final int NO_PARTITION_EPOCH = -1;

    private ReplicaView() {
    }

    static ObjectNode of(Broker broker, BrokerNames names) {
        ObjectNode view = JsonNodeFactory.instance.objectNode();
        Optional<Partition> partition = broker.partition();
        view.put("role", partition.map(found -> found.isLeader() ? "leader" : "follower").orElse("none"));
        view.put("leader_epoch", partition.map(Partition::getLeaderEpoch).orElse(NO_LEADER_EPOCH));
        Optional<UnifiedLog> log = broker.log();
        view.set("log", log.map(TraceRecords::written).orElseGet(JsonNodeFactory.instance::arrayNode));
        view.put("high_watermark", partition.isPresent() ? log.map(UnifiedLog::highWatermark).orElse(0L)
            : log.map(found -> clamp(broker.checkpointedHighWatermark(), found)).orElse(0L));
        ArrayNode epochs = view.putArray("epochs");
        log.ifPresent(found -> found.leaderEpochCache().epochWithOffsets()
            .forEach((epoch, start) -> epochs.addArray().add(epoch).add(start)));
        view.put("log_end", log.map(UnifiedLog::logEndOffset).orElse(0L));
        view.put("log_start", log.map(UnifiedLog::logStartOffset).orElse(0L));
        view.put("partition_epoch", partition.map(Partition::getPartitionEpoch).orElse(NO_PARTITION_EPOCH));
        view.put("failed", broker.hasFailed());
        partition.ifPresent(found -> {
            if (found.isLeader()) {
                leader(view, found, names);
            }
        });
        return view;
    }

    private static void leader(ObjectNode view, Partition partition, BrokerNames names) {
        ReplicaRelease.InSync inSync = ReplicaRelease.inSync(partition);
        view.set("isr", names.written(inSync.confirmed()));
        inSync.proposed().ifPresent(isr -> view.set("pending_isr", names.written(isr)));
        Map<String, Long> ends = new TreeMap<>();
        for (Replica replica : CollectionConverters.asJava(partition.remoteReplicas())) {
            ends.put(names.name(replica.brokerId()), replica.stateSnapshot().logEndOffset());
        }
        ObjectNode remote = view.putObject("remote");
        ends.forEach(remote::put);
    }

    /** As a load does it. */
    private static long clamp(long highWatermark, UnifiedLog log) {
        return Math.min(Math.max(highWatermark, log.logStartOffset()), log.logEndOffset());
    }
}
