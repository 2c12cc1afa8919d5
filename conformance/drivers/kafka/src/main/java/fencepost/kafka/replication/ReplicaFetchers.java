package fencepost.kafka.replication;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import kafka.server.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.LeaderEndPoint;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.network.BrokerEndPoint;
import org.apache.kafka.server.quota.*;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import scala.Function0;
import scala.Option;

/** Kafka's fetchers, each at the end of a {@link FetcherLink} instead of in a thread that runs by itself. */
final class ReplicaFetchers extends FetcherManager {
    private final KafkaConfig config;
    private final ReplicaManager replicas;
    private final Function0<MetadataVersion> metadataVersion;
    private final Function0<Object> brokerEpoch;
    private final List<FetcherLink> links = new ArrayList<>();
    private List<Truncation> truncationsBelow = new ArrayList<>();

    /** A truncation to below the high watermark, and what that was before. */
    record Truncation(long to, long highWatermark) {
    }

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

    /** The truncations to below the high watermark since this was asked last. */
    List<Truncation> takeTruncationsBelow() {
        List<Truncation> taken = truncationsBelow;
        truncationsBelow = new ArrayList<>();
        return taken;
    }

    @Override
    public ReplicaFetcherThread createFetcherThread(int fetcherId, BrokerEndPoint leader) {
        FetcherLink link = new FetcherLink(leader);
        LeaderEndPoint endPoint = new RemoteLeaderEndPoint("", link, ReplicaRelease.newSessionHandler(leader.id()),
            config, replicas, QuotaFactory.UNBOUNDED_QUOTA, metadataVersion, brokerEpoch);
        ReplicaFetcherThread fetcher = new Stepped("fetcher-" + leader.id(), endPoint, config, failedPartitions(), replicas,
            cut -> truncationsBelow.add(cut));
        link.attach(fetcher);
        links.add(link);
        return fetcher;
    }

    /** A link stays, as if other partitions used it. */
    @Override
    public void shutdownIdleFetcherThreads() {
    }

    private static final class Stepped extends ReplicaFetcherThread {
        private final ReplicaManager replicas;
        private final Consumer<Truncation> onTruncationBelow;

        Stepped(
            String name, LeaderEndPoint leader, KafkaConfig config, FailedPartitions failed, ReplicaManager replicas,
            Consumer<Truncation> onTruncationBelow
        ) {
            super(name, leader, config, failed, replicas, QuotaFactory.UNBOUNDED_QUOTA, "");
            this.replicas = replicas;
            this.onTruncationBelow = onTruncationBelow;
        }

        @Override
        public void truncate(TopicPartition partition, OffsetTruncationState to) {
            long highWatermark = replicas.localLogOrException(partition).highWatermark();
            if (to.offset() < highWatermark) {
                onTruncationBelow.accept(new Truncation(to.offset(), highWatermark));
            }
            super.truncate(partition, to);
        }

        /** An empty log that gets a batch from before its start begins again at that batch, and {@code truncate} is not called. */
        @Override
        public Option<LogAppendInfo> processPartitionData(
            TopicPartition partition, long fetchOffset, int leaderEpoch, FetchResponseData.PartitionData data
        ) {
            UnifiedLog log = replicas.localLogOrException(partition);
            long highWatermark = log.highWatermark();
            long base = firstBase(log);
            Option<LogAppendInfo> appended = super.processPartitionData(partition, fetchOffset, leaderEpoch, data);
            if (firstBase(log) < Math.min(base, highWatermark)) {
                onTruncationBelow.accept(new Truncation(firstBase(log), highWatermark));
            }
            return appended;
        }

        private static long firstBase(UnifiedLog log) {
            return log.logSegments().iterator().next().baseOffset();
        }

        /** It is the link that runs it. */
        @Override
        public void start() {
        }
    }
}
