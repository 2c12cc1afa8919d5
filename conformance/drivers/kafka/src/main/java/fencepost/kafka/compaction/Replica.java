package fencepost.kafka.compaction;

import com.fasterxml.jackson.databind.JsonNode;
import fencepost.kafka.InlineScheduler;
import fencepost.kafka.ManualClock;
import fencepost.kafka.Skipped;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.PreCleanStats;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * One replica: a directory with Kafka's {@code UnifiedLog} in it, its {@code LogCleanerManager}, and a {@code Cleaner}.
 *
 * <p>What stands around them in a broker is done here in the order in which {@code LogCleaner} and {@code LogManager} do it:
 * who chooses the log, what is written to the checkpoint after a round, when a round is aborted.
 */
final class Replica {
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);
    private static final int BYTES_PER_MAP_ENTRY = 24;
    private static final int COPY_BUFFER_BYTES = 64 * 1024;
    private static final int LARGEST_COPY_BUFFER_BYTES = 4 * 1024 * 1024;
    private static final int TRANSACTION_TIMEOUT_MS = 15 * 60 * 1000;
    private static final int EXPIRY_CHECK_MS = 10 * 60 * 1000;
    /** Metrics are kept by the process; one of each will do. */
    private static final BrokerTopicStats STATISTICS = new BrokerTopicStats();
    private static final Throttler NO_THROTTLE =
        new Throttler(Double.MAX_VALUE, Long.MAX_VALUE, "cleaner-io", "bytes", Time.SYSTEM);

    private final ManualClock clock;
    private final int producerExpirationMs;
    private final Path parent;
    private final Path directory;
    private final InlineScheduler scheduler = new InlineScheduler();
    private final ConcurrentMap<TopicPartition, UnifiedLog> logs = new ConcurrentHashMap<>();
    private final Cleaner cleaner;
    private UnifiedLog log;
    private LogCleanerManager manager;
    /** The round that is going on; null between rounds. */
    private Round round;

    Replica(Path parent, LogConfig config, int mapEntries, int producerExpirationMs, ManualClock clock) {
        this.clock = clock;
        this.parent = parent;
        this.directory = parent.resolve(PARTITION.toString());
        this.producerExpirationMs = producerExpirationMs;
        this.cleaner = newCleaner(mapEntries);
        // Of a trace that broke something may be left.
        LogFiles.deleteAll(parent);
        try {
            Files.createDirectories(directory);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
        open(config, 0, 0, true);
    }

    UnifiedLog log() {
        return log;
    }

    long checkpoint() {
        return manager.allCleanerCheckpoints().getOrDefault(PARTITION, log.logStartOffset());
    }

    /** A whole round; nothing where the log is not worth one. */
    Optional<Round> clean() {
        Optional<Round> chosen = choose();
        chosen.ifPresent(whole -> {
            round = whole;
            whole.run();
            checkpointAndForget(whole.cleanedTo());
        });
        return chosen;
    }

    /** The beginning of a round in steps; nothing where the log is not worth one. */
    Optional<Round> startRound() {
        Optional<Round> chosen = choose();
        chosen.ifPresent(begun -> {
            round = begun;
            begun.start();
        });
        return chosen;
    }

    /** The round that is going on. */
    Round round() {
        if (round == null) {
            throw new Skipped("no round is going on");
        }
        return round;
    }

    void finishRound() {
        round().finish();
        checkpointAndForget(round.cleanedTo());
    }

    void abortRound() {
        if (round != null) {
            round.abort();
            checkpointAndForget(round.from());
        }
    }

    /** {@code LogManager#truncateTo}. */
    void truncate(long offset) {
        boolean stopsCleaner = offset < log.activeSegment().baseOffset();
        if (stopsCleaner) {
            abortRound();
        }
        log.truncateTo(offset);
        if (stopsCleaner) {
            manager.maybeTruncateCheckpoint(parent.toFile(), PARTITION, log.activeSegment().baseOffset());
        }
    }

    /** {@code LogManager#updateTopicConfig}. */
    void configure(LogConfig config) {
        LogConfig before = log.updateConfig(config);
        if (before.compact && !config.compact) {
            abortRound();
        }
    }

    void restart() {
        abortRound();
        StorageRelease.close(log);
        forgetLog();
        open(log.config(), log.logStartOffset(), log.logEndOffset(), true);
    }

    /** The file goes; a manager that is made anew, as at a start, makes an empty one. */
    void loseCheckpoint() throws IOException {
        if (round != null) {
            throw new Skipped("a round is going on, and would write the checkpoint again");
        }
        manager.removeMetrics();
        Files.deleteIfExists(parent.resolve(LogCleanerManager.OFFSET_CHECKPOINT_FILE));
        manager = new LogCleanerManager(List.of(parent.toFile()), logs, new LogDirFailureChannel(1));
    }

    void crash(JsonNode how) {
        LogFiles files = new LogFiles(directory);
        String swap = how.path("during_swap").asText(null);
        Set<String> before = files.names();
        if (swap != null) {
            round().cleanGroup();
            // What there is of the next group's new segment was not there yet at the time of the crash; Kafka deletes it.
            round.abort();
        } else if (round != null) {
            round.die();
        }
        round = null;
        StorageRelease.abandon(log);
        scheduler.forget();
        forgetLog();
        long recoveryPoint = log.recoveryPoint();
        if (swap != null) {
            files.takeBackTo(swap, before);
        }
        if (how.hasNonNull("loses_from")) {
            if (swap != null) {
                throw new Skipped("a crash in a swap after which the log's end is lost");
            }
            files.loseFrom(how.get("loses_from").asLong());
            recoveryPoint = Math.min(recoveryPoint, how.get("loses_from").asLong());
        }
        if (how.path("loses_snapshots").asBoolean()) {
            files.loseSnapshots();
        }
        open(log.config(), log.logStartOffset(), recoveryPoint, false);
    }

    /** Does what Kafka does a while after a step: files of old segments are deleted. */
    void settle() {
        scheduler.runDelayed();
    }

    /** Gives up the log and its files. */
    void close() {
        if (round != null) {
            round.die();
        }
        StorageRelease.abandon(log);
        scheduler.forget();
        forgetLog();
        LogFiles.deleteAll(parent);
    }

    private Optional<Round> choose() {
        return manager.grabFilthiestCompactedLog(clock, new PreCleanStats()).map(chosen -> new Round(cleaner, chosen));
    }

    /** The end of {@code LogCleaner#cleanLog}, of a round that came to its end and of one that did not. */
    private void checkpointAndForget(long offset) {
        round = null;
        manager.doneCleaning(PARTITION, parent.toFile(), offset);
    }

    private void open(LogConfig config, long logStart, long recoveryPoint, boolean clean) {
        try {
            log = UnifiedLog.create(directory.toFile(), config, logStart, recoveryPoint, scheduler, STATISTICS, clock,
                TRANSACTION_TIMEOUT_MS, new ProducerStateManagerConfig(producerExpirationMs, false), EXPIRY_CHECK_MS,
                new LogDirFailureChannel(1), clean, Optional.empty());
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
        logs.put(PARTITION, log);
        manager = new LogCleanerManager(List.of(parent.toFile()), logs, new LogDirFailureChannel(1));
    }

    private void forgetLog() {
        log.removeLogMetrics();
        manager.removeMetrics();
    }

    private Cleaner newCleaner(int mapEntries) {
        var map = newMap(mapEntries);
        double loadFactor = (mapEntries + 0.5) / map.slots();
        return new Cleaner(0, map, COPY_BUFFER_BYTES, LARGEST_COPY_BUFFER_BYTES, loadFactor, NO_THROTTLE, clock,
            partition -> round.hook());
    }

    Cleaner cleaner() {
        return cleaner;
    }

    /** A map that takes this many keys: it has one more slot than that, which has to stay free. */
    static SkimpyOffsetMap newMap(int mapEntries) {
        if (mapEntries < 1) {
            throw new Skipped("Kafka's cleaner does not start with a map of less than one key");
        }
        try {
            return new SkimpyOffsetMap(Math.multiplyExact(BYTES_PER_MAP_ENTRY, Math.addExact(mapEntries, 1)), "MD5");
        } catch (NoSuchAlgorithmException problem) {
            throw new IllegalStateException(problem);
        }
    }
}
