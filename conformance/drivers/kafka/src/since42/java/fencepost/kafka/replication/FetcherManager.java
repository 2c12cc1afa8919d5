package fencepost.kafka.replication;

import kafka.server.*;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.quota.*;
import scala.Function0;

/** Kafka's manager of fetchers as it is from 4.2 on. */
abstract class FetcherManager extends ReplicaFetcherManager {
    /** What its constructor takes in every release. */
    FetcherManager(
        KafkaConfig config, ReplicaManager replicas, Metrics metrics, Time time, ReplicationQuotaManager quota,
        Function0<MetadataVersion> metadataVersion, Function0<Object> brokerEpoch
    ) {
        super(config, replicas, metrics, time, quota, metadataVersion, brokerEpoch);
    }
}
