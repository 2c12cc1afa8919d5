package fencepost.kafka.compaction;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** What can be seen of a log, in the form of a trace: read from its segments, its indexes and its memory. */
final class LogView {
    private LogView() {
    }

    /**
     * The whole state.
     *
     * @param checkpoint the cleaner's
     */
    static ObjectNode of(UnifiedLog log, Producers producers, long checkpoint) {
        ObjectNode state = JsonNodeFactory.instance.objectNode();
        ArrayNode batches = state.putArray("log");
        ArrayNode bytes = state.putArray("bytes");
        ArrayNode segments = state.putArray("segments");
        ArrayNode aborted = state.putArray("aborted");
        for (LogSegment segment : log.logSegments()) {
            segments.add(segment.baseOffset());
            for (var batch : segment.log().batches()) {
                batches.add(batch(batch, producers));
                ByteBuffer copy = ByteBuffer.allocate(batch.sizeInBytes());
                batch.writeTo(copy);
                copy.flip();
                bytes.add(Batches.hex(copy));
            }
            for (var entry : segment.txnIndex().allAbortedTxns()) {
                aborted.addObject()
                    .put("producer", producers.name(entry.producerId()))
                    .put("first", entry.firstOffset())
                    .put("last", entry.lastOffset())
                    .put("last_stable", entry.lastStableOffset());
            }
        }
        ObjectNode known = state.putObject("producers");
        log.producerStateManager().activeProducers().forEach((id, producer) -> known.putObject(producers.name(id))
            .put("epoch", producer.producerEpoch())
            .put("last_data", producer.lastDataOffset())
            .put("last_sequence", StorageRelease.lastSequence(producer)));
        return state
            .put("log_start", log.logStartOffset())
            .put("log_end", log.logEndOffset())
            .put("last_stable", log.lastStableOffset())
            .put("first_dirty", checkpoint);
    }

    /** Which marker a batch is; null where it is none, or was emptied. */
    static ControlRecordType marker(RecordBatch batch) {
        if (!batch.isControlBatch() || !batch.iterator().hasNext()) {
            return null;
        }
        return ControlRecordType.parse(batch.iterator().next().key());
    }

    static void put(ArrayNode records, long offset, ByteBuffer key, ByteBuffer value) {
        records.addArray().add(offset).add(Batches.text(key)).add(Batches.text(value));
    }

    private static ObjectNode batch(RecordBatch batch, Producers producers) {
        ObjectNode seen = JsonNodeFactory.instance.objectNode();
        seen.put("first", batch.baseOffset()).put("last", batch.lastOffset());
        batch.deleteHorizonMs().ifPresent(horizon -> seen.put("horizon_ms", horizon));
        if (batch.hasProducerId()) {
            seen.put("producer", producers.name(batch.producerId()));
        }
        if (batch.isTransactional()) {
            seen.put("transactional", true);
        }
        ArrayNode records = seen.putArray("records");
        if (batch.isControlBatch()) {
            ControlRecordType marker = marker(batch);
            if (marker == null) {
                seen.put("emptied_marker", true);
            } else if (marker == ControlRecordType.COMMIT) {
                seen.put("marker", "commit");
            } else if (marker == ControlRecordType.ABORT) {
                seen.put("marker", "abort");
            }
        } else {
            for (var left : batch) {
                put(records, left.offset(), left.key(), left.value());
            }
        }
        return seen;
    }
}
