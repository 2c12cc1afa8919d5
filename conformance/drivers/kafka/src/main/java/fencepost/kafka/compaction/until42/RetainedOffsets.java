package fencepost.kafka.compaction.until42;

import fencepost.kafka.compaction.Rebuild;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;

/**
 * The filter of one pass over one batch, with the records that stay given by their offsets.
 *
 * <p>One of two files that differ in three imports only: a class with this name of Kafka's in a signature, {@code Record},
 * cannot be imported with its package, since there is a {@code java.lang.Record}.
 */
public final class RetainedOffsets extends MemoryRecords.RecordFilter {
    private final Rebuild rebuild;

    public RetainedOffsets(Rebuild rebuild) {
        super(rebuild.nowMs(), rebuild.deleteRetentionMs());
        this.rebuild = rebuild;
    }

    @Override
    protected BatchRetentionResult checkBatchRetention(RecordBatch batch) {
        return new BatchRetentionResult(
            rebuild.keepHeader() ? BatchRetention.RETAIN_EMPTY : BatchRetention.DELETE_EMPTY, rebuild.discardableMarker());
    }

    @Override
    protected boolean shouldRetainRecord(RecordBatch batch, Record kept) {
        return rebuild.retained().contains(kept.offset());
    }
}
