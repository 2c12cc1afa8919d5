package fencepost.kafka.replication;

import java.util.ArrayList;
import java.util.List;
import kafka.server.*;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.LeaderEndPoint;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.network.BrokerEndPoint;
import org.apache.kafka.server.quota.*;
import scala.Function0;

/** Kafka's fetchers, each at the end of a {@link FetcherLink} instead of in a thread that runs by itself. */
final class ReplicaFetchers extends FetcherManager {
    private final KafkaConfig config;
    private final ReplicaManager replicas;
    private final Function0<MetadataVersion> metadataVersion;
    private final Function0<Object> brokerEpoch;
    private final List<FetcherLink> links = new ArrayList<>();

    ReplicaFetchers(
        KafkaConfig config,
        ReplicaManager replicas,
        Metrics metrics,
        Time time,
        ReplicationQuotaManager quota,
        Function0<MetadataVersion> metadataVersion,
        Function0<Object> brokerEpoch
    ) {
        super(config, replicas, metrics, time, quota, metadataVersion, brokerEpoch);
        this.config = config;
        this.replicas = replicas;
        this.metadataVersion = metadataVersion;
        this.brokerEpoch = brokerEpoch;
    }

    /** One a leader that there has been. */
    List<FetcherLink> links() {
        return links;
    }

    @Override
    public ReplicaFetcherThread createFetcherThread(int fetcherId, BrokerEndPoint leader) {
        FetcherLink link = new FetcherLink(leader);
        LeaderEndPoint endPoint = new RemoteLeaderEndPoint("", link, ReplicaRelease.newSessionHandler(leader.id()),
            config, replicas, QuotaFactory.UNBOUNDED_QUOTA, metadataVersion, brokerEpoch);
        ReplicaFetcherThread fetcher = new Stepped("fetcher-" + leader.id(), endPoint, config, failedPartitions(), replicas);
        link.attach(fetcher);
        links.add(link);
        return fetcher;
    }

    /** A link stays, as if other partitions used it. */
    @Override
    public void shutdownIdleFetcherThreads() {
    }

    private static final class Stepped extends ReplicaFetcherThread {
        Stepped(String name, LeaderEndPoint leader, KafkaConfig config, FailedPartitions failed, ReplicaManager replicas) {
            super(name, leader, config, failed, replicas, QuotaFactory.UNBOUNDED_QUOTA, "");
        }

        /** It is the link that runs it. */
        @Override
        public void start() {
        }
    }
}
