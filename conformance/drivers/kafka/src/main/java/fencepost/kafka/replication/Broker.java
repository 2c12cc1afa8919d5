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
import java.util.Optional;
import java.util.Properties;
import java.util.function.Supplier;
import kafka.cluster.Partition;
import kafka.server.*;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.server.config.ReplicationQuotaManagerConfig;
import org.apache.kafka.server.purgatory.DelayedOperationPurgatory;
import org.apache.kafka.server.quota.*;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
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
    private MetadataCache metadataCache;
    private Object logManager;
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
        return ReplicaRelease.log(logManager);
    }

    List<ReplicaFetchers.Truncation> takeTruncationsBelow() {
        return fetchers.takeTruncationsBelow();
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
        ReplicaRelease.setImage(metadataCache, change.image());
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
        ReplicaRelease.shutDown(logManager, brokerEpoch);
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
        if (how.has("rules")) {
            throw new Skipped("a broker that comes up with another release");
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
        ReplicaRelease.locks(logManager).forEach(lock -> {
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
        metadataCache = ReplicaRelease.newMetadataCache(id);
        ReplicaRelease.setImage(metadataCache, cluster.image());
        metrics = new Metrics();
        BrokerTopicStats statistics = new BrokerTopicStats();
        LogDirFailureChannel failures = new LogDirFailureChannel(1);
        logManager = ReplicaRelease.newLogManager(config, metadataCache, scheduler, clock, statistics, failures);
        controller = new ControllerChannel();
        produceTimer = new ManualTimer();
        fetchTimer = new ManualTimer();
        QuotaFactory.QuotaManagers quotas = quotas();
        Supplier<Object> noPurgatory = () -> purgatory("None", new ManualTimer());
        Object alterPartition = ReplicaRelease.newAlterPartitionManager(controller, scheduler, clock, id, () -> brokerEpoch);
        replicas = ReplicaRelease.newReplicaManager(purgatory("Produce", produceTimer), purgatory("Fetch", fetchTimer),
            noPurgatory, () -> brokerEpoch, config, metrics, clock, scheduler, logManager, quotas, metadataCache, failures,
            statistics, alterPartition, DirectoryEventHandler.NOOP);
        fetchers = new ReplicaFetchers(config, replicas, metrics, clock, quotas.follower(), metadataCache::metadataVersion,
            () -> brokerEpoch);
        ReplicaRelease.replaceFetchers(replicas, fetchers);
        isUp = true;
    }

    private Object purgatory(String name, ManualTimer timer) {
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
