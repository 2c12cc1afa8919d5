package fencepost.kafka.compaction;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/**
 * A consumer that reads one partition.
 *
 * <p>Each fetch is Kafka's ({@code UnifiedLog#read}), with its own list of aborted transactions; what a consumer skips of an
 * answer is said again here after {@code CompletedFetch}, whose class cannot be had without a client around it.
 */
final class Consumer {
    private final UnifiedLog log;
    private final boolean committedOnly;
    private final ArrayNode records;
    private long position;

    /** A consumer at an offset, which puts what it reads into {@code records}. */
    Consumer(UnifiedLog log, boolean committedOnly, long from, ArrayNode records) {
        this.log = log;
        this.committedOnly = committedOnly;
        this.position = from;
        this.records = records;
    }

    long position() {
        return position;
    }

    /** Reads until a fetch brings nothing. */
    void readAll() throws IOException {
        while (fetch(Integer.MAX_VALUE)) {
            // Each fetch moves on.
        }
    }

    /** Reads one batch, or nothing at the end: a fetch that asks for one byte is given a whole batch. */
    void readBatch() throws IOException {
        fetch(1);
    }

    private boolean fetch(int bytes) throws IOException {
        FetchIsolation isolation = committedOnly ? FetchIsolation.TXN_COMMITTED : FetchIsolation.HIGH_WATERMARK;
        FetchDataInfo fetched = log.read(position, bytes, isolation, true);
        long before = position;
        Set<Long> aborting = new HashSet<>();
        Deque<FetchResponseData.AbortedTransaction> aborted = new ArrayDeque<>(fetched.abortedTransactions.orElse(List.of())
            .stream().sorted(Comparator.comparingLong(FetchResponseData.AbortedTransaction::firstOffset)).toList());
        for (var batch : fetched.records.batches()) {
            while (!aborted.isEmpty() && aborted.peek().firstOffset() <= batch.lastOffset()) {
                aborting.add(aborted.poll().producerId());
            }
            boolean isSkipped = batch.isControlBatch();
            if (committedOnly && batch.hasProducerId()) {
                if (LogView.marker(batch) == ControlRecordType.ABORT) {
                    aborting.remove(batch.producerId());
                } else if (batch.isTransactional() && aborting.contains(batch.producerId())) {
                    isSkipped = true;
                }
            }
            if (!isSkipped) {
                for (var read : batch) {
                    if (read.offset() >= position) {
                        LogView.put(records, read.offset(), read.key(), read.value());
                    }
                }
            }
            position = Math.max(position, batch.nextOffset());
        }
        return position > before;
    }
}
