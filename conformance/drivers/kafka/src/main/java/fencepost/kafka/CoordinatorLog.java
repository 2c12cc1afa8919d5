package fencepost.kafka;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;

/**
 * What the coordinator wrote to its partition of {@code __consumer_offsets}, as bytes.
 *
 * <p>A coordinator that takes over gets what it reads back from those bytes, and nothing else: what a release does not
 * write, it does not know after a fail-over.
 */
final class CoordinatorLog {
    static final long NO_PRODUCER_ID = -1;
    static final short NO_PRODUCER_EPOCH = -1;
    /** No trace has a second session of a producer. */
    static final short FIRST_PRODUCER_EPOCH = 0;

    private static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();

    private sealed interface Entry {
        void replay(GroupCoordinatorShard shard, long offset);
    }

    private record Bytes(byte[] key, byte[] value, long producerId, short producerEpoch) implements Entry {
        @Override
        public void replay(GroupCoordinatorShard shard, long offset) {
            CoordinatorRecord record =
                SERDE.deserialize(ByteBuffer.wrap(key), value == null ? null : ByteBuffer.wrap(value));
            shard.replay(offset, producerId, producerEpoch, record);
        }
    }

    private record Marker(long producerId, TransactionResult result) implements Entry {
        @Override
        public void replay(GroupCoordinatorShard shard, long offset) {
            shard.replayEndTransactionMarker(producerId, FIRST_PRODUCER_EPOCH, result);
        }
    }

    private final List<Entry> entries = new ArrayList<>();

    /** The offset that the next record gets. */
    long endOffset() {
        return entries.size();
    }

    void append(CoordinatorRecord record, long producerId) {
        short producerEpoch = producerId == NO_PRODUCER_ID ? NO_PRODUCER_EPOCH : FIRST_PRODUCER_EPOCH;
        entries.add(new Bytes(SERDE.serializeKey(record), SERDE.serializeValue(record), producerId, producerEpoch));
    }

    void appendMarker(long producerId, TransactionResult result) {
        entries.add(new Marker(producerId, result));
    }

    /** Forgets what lies at that offset and above. */
    void truncate(long offset) {
        entries.subList((int) offset, entries.size()).clear();
    }

    void replay(GroupCoordinatorShard shard) {
        for (int offset = 0; offset < entries.size(); offset++) {
            entries.get(offset).replay(shard, offset);
        }
    }
}
