package fencepost.kafka.compaction;

import java.util.Set;

/**
 * What is to become of a batch: the call {@code rebuild}, as both forms of {@code RetainedOffsets} need it.
 *
 * @param retained the offsets of the records that stay
 * @param keepHeader whether the header stays where no record does
 * @param discardableMarker whether the batch is a marker whose transaction has no data left
 */
public record Rebuild(long nowMs, long deleteRetentionMs, Set<Long> retained, boolean keepHeader, boolean discardableMarker) {
}
