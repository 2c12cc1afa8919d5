package fencepost.kafka.replication;

import fencepost.kafka.InlineScheduler;
import fencepost.kafka.KafkaRelease;
import fencepost.kafka.ManualClock;
import fencepost.kafka.Skipped;
import fencepost.kafka.compaction.LogFiles;
import fencepost.kafka.compaction.StorageRelease;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import kafka.cluster.Partition;
import kafka.server.DelayedFetch;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaFetcherManager;
import kafka.server.ReplicaManager;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.DelayedActionQueue;
import org.apache.kafka.server.partition.DefaultAlterPartitionManager;
import org.apache.kafka.server.purgatory.DelayedOperation;
import org.apache.kafka.server.purgatory.DelayedOperationPurgatory;
import org.apache.kafka.server.purgatory.DelayedProduce;
import org.apache.kafka.server.quota.QuotaFactory;
import org.apache.kafka.server.quota.QuotaType;
import org.apache.kafka.server.quota.ReplicationQuotaManager;
import org.apache.kafka.server.config.ReplicationQuotaManagerConfig;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogManager;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;

/**
 * One broker: a directory, and while it is up Kafka's {@code ReplicaManager} with all that belongs to it.
 *
 * <p>What is not here is what stands in front of a {@code ReplicaManager} (the network, {@code KafkaApis}) and what drives it
 * by itself (threads, timers, schedules).
 */
final class Broker {
    private static final long FOREVER_MS = Integer.MAX_VALUE;
    private static final int PURGE_INTERVAL = 1000;
    private static final int PAST_LAG_MS = 1;

    private final int id;
    private final Path directory;
    private final KafkaConfig config;
    private final ManualClock clock = new ManualClock();
    private final ClusterImage cluster;
    private long brokerEpoch = ClusterImage.FIRST_BROKER_EPOCH;

    private boolean isUp;
    private InlineScheduler scheduler;
    private KRaftMetadataCache metadataCache;
    private LogManager logManager;
    private ReplicaManager replicas;
    private ReplicaFetchers fetchers;
    private ControllerChannel controller;
    private ManualTimer produceTimer;
    private ManualTimer fetchTimer;
    private Metrics metrics;

    Broker(int id, Path directory, BrokerNames names, int minIsr) {
        this.id = id;
        this.directory = directory;
        this.cluster = new ClusterImage(names);
        this.config = config(minIsr);
        LogFiles.deleteAll(directory);
        try {
            Files.createDirectories(directory);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
        boot();
    }

    int id() {
        return id;
    }

    boolean isUp() {
        return isUp;
    }

    long brokerEpoch() {
        return brokerEpoch;
    }

    long nowMs() {
        return clock.milliseconds();
    }

    ReplicaManager replicas() {
        if (!isUp) {
            throw new IllegalArgumentException("the broker is down");
        }
        return replicas;
    }

    List<FetcherLink> links() {
        return fetchers.links();
    }

    ControllerChannel controller() {
        return controller;
    }

    ManualTimer produceTimer() {
        return produceTimer;
    }

    ManualTimer fetchTimer() {
        return fetchTimer;
    }

    /** The partition; nothing before the first record of the controller. */
    Optional<Partition> partition() {
        Option<Partition> found = replicas.onlinePartition(Topic.PARTITION);
        return found.isDefined() ? Optional.of(found.get()) : Optional.empty();
    }

    Optional<UnifiedLog> log() {
        return logManager.getLog(Topic.PARTITION);
    }

    boolean hasFailed() {
        return fetchers.failedPartitions().contains(Topic.PARTITION);
    }

    /** The high watermark that the next load would find. */
    long checkpointedHighWatermark() {
        OffsetCheckpointFile file = replicas.highWatermarkCheckpoints().apply(directory.toAbsolutePath().toString());
        return file.read().getOrDefault(Topic.PARTITION, 0L);
    }

    /** Applies records of the controller, as the broker's metadata publisher does. */
    void metadata(JsonNode records) {
        for (FetcherLink link : links()) {
            if (link.outstanding() != null && link.outstanding().apiKey() == ApiKeys.LIST_OFFSETS) {
                throw new Skipped("a fetcher of Kafka's that waits for ListOffsets lets no metadata through");
            }
        }
        int known = partition().map(Partition::getPartitionEpoch).orElse(-1);
        ClusterImage.Change change = cluster.change(records, known);
        metadataCache.setImage(change.image());
        if (change.delta().topicsDelta() != null) {
            replicas.applyDelta(change.delta().topicsDelta(), change.image());
        }
    }

    /** The lag time passes, and whoever lags is taken out of the in-sync replicas. */
    void shrinkIsr() {
        clock.advance(config.replicaLagTimeMaxMs() + PAST_LAG_MS);
        partition().ifPresent(Partition::maybeShrinkIsr);
    }

    void checkpoint() {
        replicas().checkpointHighWatermarks();
    }

    /** What a broker does a while after a step. */
    void settle() {
        scheduler.runDelayed();
    }

    void stop() {
        replicas().shutdown(true);
        try {
            logManager.shutdown(brokerEpoch);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
        down();
    }

    /** The process dies; what it wrote is the operating system's. */
    void crash() {
        replicas().shutdown(false);
        log().ifPresent(StorageRelease::abandon);
        unlock();
        down();
    }

    void start(JsonNode how) {
        if (isUp) {
            throw new IllegalArgumentException("the broker is up");
        }
        brokerEpoch = how.path("broker_epoch").asLong(brokerEpoch);
        DamagedDisk disk = new DamagedDisk(directory.resolve(Topic.PARTITION.toString()));
        if (how.hasNonNull("keep")) {
            disk.keep(how.get("keep").asLong());
        }
        if (how.hasNonNull("epoch_checkpoint")) {
            disk.damageEpochs(how.get("epoch_checkpoint").asText());
        }
        cluster.register(id, brokerEpoch);
        boot();
    }

    /** The trace is over. */
    void close() {
        if (isUp) {
            crash();
        }
        LogFiles.deleteAll(directory);
    }

    private void down() {
        links().forEach(FetcherLink::cut);
        isUp = false;
        scheduler.forget();
        metrics.close();
    }

    private void unlock() {
        logManager.dirLocks().forEach(lock -> {
            try {
                lock.destroy();
            } catch (IOException problem) {
                throw new UncheckedIOException(problem);
            }
        });
    }

    private void boot() {
        cluster.forgetTopic();
        scheduler = new InlineScheduler();
        metadataCache = new KRaftMetadataCache(id, () -> KRaftVersion.LATEST_PRODUCTION);
        metadataCache.setImage(cluster.image());
        metrics = new Metrics();
        BrokerTopicStats statistics = new BrokerTopicStats();
        LogDirFailureChannel failures = new LogDirFailureChannel(1);
        logManager = kafka.log.LogManager.apply(config, Set.of(), metadataCache, scheduler, clock, statistics, failures);
        try {
            logManager.loadLogs(logManager.currentDefaultConfig(), Map.of(), log -> false);
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        }
        controller = new ControllerChannel();
        produceTimer = new ManualTimer();
        fetchTimer = new ManualTimer();
        replicas = newReplicaManager(statistics, failures);
        fetchers = (ReplicaFetchers) replicas.replicaFetcherManager();
        isUp = true;
    }

    private ReplicaManager newReplicaManager(BrokerTopicStats statistics, LogDirFailureChannel failures) {
        // Used inside of the constructor, where the fields of a subclass are not there yet.
        KafkaConfig settings = config;
        KRaftMetadataCache cache = metadataCache;
        return new ReplicaManager(config, metrics, clock, scheduler, logManager, Option.empty(), quotas(), metadataCache, failures,
            new DefaultAlterPartitionManager(controller, scheduler, id, () -> brokerEpoch), statistics,
            Option.apply(this.<DelayedProduce>purgatory("Produce", produceTimer)),
            Option.apply(this.<DelayedFetch>purgatory("Fetch", fetchTimer)),
            Option.apply(purgatory("DeleteRecords", new ManualTimer())),
            Option.apply(purgatory("RemoteFetch", new ManualTimer())),
            Option.apply(purgatory("RemoteListOffsets", new ManualTimer())),
            Option.apply(purgatory("ShareFetch", new ManualTimer())),
            () -> brokerEpoch, Option.empty(), DirectoryEventHandler.NOOP, new DelayedActionQueue()) {
            @Override
            public ReplicaFetcherManager createReplicaFetcherManager(
                Metrics measured, Time time, ReplicationQuotaManager quota
            ) {
                return new ReplicaFetchers(settings, this, measured, time, quota, cache::metadataVersion, () -> brokerEpoch);
            }
        };
    }

    private <T extends DelayedOperation> DelayedOperationPurgatory<T> purgatory(String name, ManualTimer timer) {
        return new DelayedOperationPurgatory<>(name, timer, id, PURGE_INTERVAL, false, true);
    }

    private QuotaFactory.QuotaManagers quotas() {
        ReplicationQuotaManagerConfig defaults = new ReplicationQuotaManagerConfig(2, 1);
        return new QuotaFactory.QuotaManagers(null, null, null, null,
            new ReplicationQuotaManager(defaults, metrics, QuotaType.LEADER_REPLICATION, clock),
            new ReplicationQuotaManager(defaults, metrics, QuotaType.FOLLOWER_REPLICATION, clock),
            new ReplicationQuotaManager(defaults, metrics, QuotaType.ALTER_LOG_DIRS_REPLICATION, clock),
            Optional.empty());
    }

    private KafkaConfig config(int minIsr) {
        Properties properties = new Properties();
        properties.put("process.roles", "broker");
        properties.put("node.id", Integer.toString(id));
        properties.put("controller.quorum.voters", "1000@localhost:9099");
        properties.put("controller.listener.names", "CONTROLLER");
        properties.put("listeners", ClusterImage.LISTENER + "://localhost:0");
        properties.put("inter.broker.listener.name", ClusterImage.LISTENER);
        properties.put("log.dirs", directory.toAbsolutePath().toString());
        properties.put("min.insync.replicas", Integer.toString(minIsr));
        // An index file is as large as it may become, from the beginning.
        properties.put("log.index.size.max.bytes", "256");
        properties.put("log.cleaner.enable", "false");
        // A delay shows in the fetcher's entry; when it is over is the trace's matter.
        properties.put("replica.fetch.backoff.ms", "0");
        return KafkaConfig.fromProps(properties, false);
    }
}
