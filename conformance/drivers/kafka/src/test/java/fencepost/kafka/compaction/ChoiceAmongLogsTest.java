package fencepost.kafka.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import fencepost.kafka.InlineScheduler;
import fencepost.kafka.ManualClock;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.PreCleanStats;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Which of two logs Kafka's one cleaner thread takes (docs/compaction.md 2.1): {@code
 * LogCleanerManager#grabFilthiestCompactedLog}, then a whole round, as {@code LogCleaner} calls them.
 */
class ChoiceAmongLogsTest {
    private static final TopicPartition AGED = new TopicPartition("aged", 0);
    private static final TopicPartition BUSY = new TopicPartition("busy", 0);
    private static final String BUSY_SETTINGS = "{\"min_cleanable_dirty_percent\":5}";
    private static final long MAX_LAG_MS = 100;
    private static final String AGED_SETTINGS =
        "{\"min_cleanable_dirty_percent\":90,\"max_compaction_lag_ms\":" + MAX_LAG_MS + "}";
    private static final int ROUNDS = 50;
    private static final int FIFTEEN_MINUTES_MS = 15 * 60 * 1000;

    @TempDir
    private Path parent;

    private final ManualClock clock = new ManualClock();
    private final ConcurrentMap<TopicPartition, UnifiedLog> logs = new ConcurrentHashMap<>();
    private LogCleanerManager manager;
    private Cleaner cleaner;

    @BeforeEach
    void twoLogs() throws IOException {
        clock.advance(5000);
        open(AGED, AGED_SETTINGS);
        open(BUSY, BUSY_SETTINGS);
        manager = new LogCleanerManager(List.of(parent.toFile()), logs, new LogDirFailureChannel(1));
        cleaner = new Cleaner(0, Replica.newMap(100), 64 * 1024, 64 * 1024, 0.9,
            new Throttler(Double.MAX_VALUE, Long.MAX_VALUE, "cleaner-io", "bytes", Time.SYSTEM), clock, partition -> { });
    }

    @AfterEach
    void close() {
        logs.values().forEach(log -> {
            StorageRelease.abandon(log);
            log.removeLogMetrics();
        });
        manager.removeMetrics();
    }

    private void open(TopicPartition partition, String settings) throws IOException {
        Path directory = Files.createDirectories(parent.resolve(partition.toString()));
        logs.put(partition, UnifiedLog.create(directory.toFile(), new TopicSettings(new ObjectMapper().readTree(settings)).config(),
            0, 0, new InlineScheduler(), new BrokerTopicStats(), clock, FIFTEEN_MINUTES_MS,
            new ProducerStateManagerConfig(FIFTEEN_MINUTES_MS, false), FIFTEEN_MINUTES_MS, new LogDirFailureChannel(1), true,
            Optional.empty()));
    }

    /** Records of the clock's time, in a segment that is closed then. */
    private void write(TopicPartition partition, String... keys) throws IOException {
        UnifiedLog log = logs.get(partition);
        for (String key : keys) {
            log.appendAsFollower(MemoryRecords.withRecords(log.logEndOffset(), Compression.NONE, 0,
                new SimpleRecord(clock.milliseconds(), key.getBytes(StandardCharsets.UTF_8), new byte[1])), 0);
        }
        log.roll();
        log.updateHighWatermark(log.logEndOffset());
    }

    /** What the cleaner thread does when it wakes up: the log that it has cleaned, if any is worth a round. */
    private Optional<String> round() throws Exception {
        Optional<LogToClean> chosen = manager.grabFilthiestCompactedLog(clock, new PreCleanStats());
        if (chosen.isPresent()) {
            TopicPartition partition = chosen.get().topicPartition();
            manager.doneCleaning(partition, parent.toFile(), cleaner.clean(chosen.get()).getKey());
        }
        return chosen.map(log -> log.topicPartition().topic());
    }

    /** A quarter of the log is dirty, where nine tenths are asked for. */
    private void aLogWithLittleDirt() throws Exception {
        write(AGED, "a", "b", "c");
        assertEquals(Optional.of("aged"), round());
        write(AGED, "a");
        assertEquals(Optional.empty(), round());
    }

    @Test
    void a_log_that_is_overdue_waits_as_long_as_there_is_a_dirtier_one() throws Exception {
        aLogWithLittleDirt();
        for (int round = 0; round < ROUNDS; round++) {
            clock.advance(MAX_LAG_MS + 1);
            write(BUSY, "k", "k", "k");
            assertEquals(Optional.of("busy"), round());
        }
        // The control: it was worth a round all the time.
        assertEquals(Optional.of("aged"), round());
        assertEquals(Optional.empty(), round());
    }

    @Test
    void an_overdue_log_has_its_turn_before_one_with_less_dirt() throws Exception {
        write(BUSY, "k", "l", "m", "n", "o", "p", "q", "r", "s");
        assertEquals(Optional.of("busy"), round());
        aLogWithLittleDirt();
        clock.advance(MAX_LAG_MS + 1);
        write(BUSY, "k");
        assertEquals(Optional.of("aged"), round());
        assertEquals(Optional.of("busy"), round());
    }
}
