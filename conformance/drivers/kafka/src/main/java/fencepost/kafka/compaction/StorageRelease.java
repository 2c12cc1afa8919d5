package fencepost.kafka.compaction;

import fencepost.kafka.KafkaRelease;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.OffsetMap;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;

/**
 * Where the storage classes of 4.1, 4.2, 4.3 and 4.4 differ, and the only file that knows it, apart from {@code
 * RetainedOffsets}, of which there are two.
 *
 * <p>That the record classes moved to another package in 4.3 costs no more than two imports of whole packages.
 */
public final class StorageRelease {
    /** From 4.2 on a marker is appended with the version of the transaction protocol that wrote it. */
    private static final Method APPEND_MARKER = KafkaRelease.firstOf(
        KafkaRelease.method(UnifiedLog.class, "appendAsLeader", 6), KafkaRelease.method(UnifiedLog.class, "appendAsLeader", 5));
    private static final Method ABANDON = KafkaRelease.firstOf(
        KafkaRelease.method(UnifiedLog.class, "closeQuietly", 0), KafkaRelease.method(UnifiedLog.class, "closeHandlers", 0));
    /** From 4.4 on the active segment's indexes are not cut to size by closing the log; {@code LogManager} has it done before. */
    private static final Method BEFORE_CLOSE = KafkaRelease.method(UnifiedLog.class, "prepareActiveSegmentForClose", 0);
    private static final Method LAST_SEQUENCE = KafkaRelease.method(ProducerStateEntry.class, "lastSeq", 0);
    /** 4.4 also takes a limit of what a batch may be decompressed to. There is a private method of this name, too. */
    private static final Method FILTER = Arrays.stream(MemoryRecords.class.getMethods())
        .filter(method -> method.getName().equals("filterTo")).findFirst().orElseThrow();
    private static final Method RETAIN = KafkaRelease.method(Cleaner.class, "shouldRetainRecord", 6);
    /** Public until 4.2. */
    private static final Method OFFSETS_TO_CLEAN = KafkaRelease.method(LogCleanerManager.class, "cleanableOffsets", 3);
    private static final Class<?> RETAINED_OFFSETS = KafkaRelease.firstOf(
        KafkaRelease.find("fencepost.kafka.compaction.since43.RetainedOffsets"),
        KafkaRelease.find("fencepost.kafka.compaction.until42.RetainedOffsets"));

    private StorageRelease() {
    }

    /** Appends a marker as the transaction coordinator does. */
    static LogAppendInfo appendMarker(UnifiedLog log, MemoryRecords marker, int leaderEpoch, int transactionProtocol) {
        Object[] arguments = {marker, leaderEpoch, AppendOrigin.COORDINATOR, RequestLocal.noCaching(),
            VerificationGuard.SENTINEL, (short) transactionProtocol};
        return (LogAppendInfo) KafkaRelease.call(
            APPEND_MARKER, log, Arrays.copyOf(arguments, APPEND_MARKER.getParameterCount()));
    }

    /** Lets go of the log's files as they are: nothing is written, cut to size or flushed. */
    public static void abandon(UnifiedLog log) {
        KafkaRelease.call(ABANDON, log);
    }

    /** Closes the log in good order. */
    static void close(UnifiedLog log) {
        if (BEFORE_CLOSE != null) {
            KafkaRelease.call(BEFORE_CLOSE, log);
        }
        log.flush(true);
        log.close();
    }

    static int lastSequence(ProducerStateEntry producer) {
        return (int) KafkaRelease.call(LAST_SEQUENCE, producer);
    }

    /** A builder of a batch that carries a delete horizon. */
    static MemoryRecordsBuilder stampedBatch(
        Compression compression, long producerId, short epoch, int sequence, boolean transactional, long horizonMs
    ) {
        Constructor<?> withHorizon = Arrays.stream(MemoryRecordsBuilder.class.getConstructors())
            .filter(constructor -> constructor.getParameterCount() == 14)
            .findFirst().orElseThrow();
        Object output = KafkaRelease.make(
            Arrays.stream(withHorizon.getParameterTypes()[0].getConstructors())
                .filter(constructor -> constructor.getParameterCount() == 1
                    && constructor.getParameterTypes()[0] == ByteBuffer.class)
                .findFirst().orElseThrow(),
            ByteBuffer.allocate(Batches.BUFFER_BYTES));
        return (MemoryRecordsBuilder) KafkaRelease.make(withHorizon, output, RecordBatch.CURRENT_MAGIC_VALUE, compression,
            TimestampType.CREATE_TIME, 0L, RecordBatch.NO_TIMESTAMP, producerId, epoch, sequence, transactional, false,
            RecordBatch.NO_PARTITION_LEADER_EPOCH, Batches.BUFFER_BYTES, horizonMs);
    }

    /** What {@code MemoryRecords#filterTo} makes of a batch of which the records at some offsets stay. */
    static ByteBuffer filter(MemoryRecords records, Rebuild rebuild) {
        Object filter = KafkaRelease.make(RETAINED_OFFSETS.getConstructors()[0], rebuild);
        ByteBuffer destination = ByteBuffer.allocate(Batches.BUFFER_BYTES);
        Object buffers = noCaching(FILTER.getParameterTypes()[2]);
        Object result = FILTER.getParameterCount() == 4
            ? KafkaRelease.call(FILTER, records, filter, destination, buffers, Integer.MAX_VALUE)
            : KafkaRelease.call(FILTER, records, filter, destination, buffers);
        ByteBuffer output = ((MemoryRecords.FilterResult) result).outputBuffer();
        output.flip();
        return output;
    }

    /** {@code LogCleanerManager#cleanableOffsets}: where a round begins, and the first offset that it must not clean. */
    static LogToClean offsetsToClean(UnifiedLog log, Optional<Long> checkpoint, long nowMs) {
        Object found = KafkaRelease.call(OFFSETS_TO_CLEAN, null, log, checkpoint, nowMs);
        long from = (long) KafkaRelease.call(KafkaRelease.method(found.getClass(), "firstDirtyOffset", 0), found);
        long end = (long) KafkaRelease.call(KafkaRelease.method(found.getClass(), "firstUncleanableDirtyOffset", 0), found);
        return new LogToClean(log, from, end, false);
    }

    /** {@code Cleaner#shouldRetainRecord}, which decides about a record of a batch that is not aborted. */
    static boolean retains(Cleaner cleaner, OffsetMap map, RecordBatch batch, long nowMs) {
        CleanerStats statistics = new CleanerStats(Time.SYSTEM);
        return (boolean) KafkaRelease.call(RETAIN, cleaner, map, false, batch, batch.iterator().next(), statistics, nowMs);
    }

    private static Object noCaching(Class<?> bufferSupplier) {
        return KafkaRelease.peek(KafkaRelease.field(bufferSupplier, "NO_CACHING"), (Object) null);
    }
}
