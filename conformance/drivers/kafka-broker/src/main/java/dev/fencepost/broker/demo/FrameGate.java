package dev.fencepost.broker.demo;

import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.Map;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatRequest;
import org.apache.kafka.common.requests.RequestHeader;

/**
 * Which requests of m0 are held back, and until when. It reads frames and never changes them; what it holds, holds up
 * whatever follows on the same connection, as a slow network does.
 */
final class FrameGate {
    /** What is held back. */
    enum Held {
        /** A {@code TxnOffsetCommit}. */
        COMMIT,
        /**
         * A heartbeat that reports fewer partitions than one before it did: it acknowledges a revocation. (A consumer that
         * has just joined may report none at first, until it knows the names of the topics that it was assigned.)
         */
        ACKNOWLEDGEMENT
    }

    private static final class Count {
        int arrived;
        int released;
    }

    private final Map<Held, Count> counts = new EnumMap<>(Held.class);
    private final int allPartitions;
    private boolean reportedAll;
    private boolean open;

    FrameGate(int allPartitions) {
        this.allPartitions = allPartitions;
        for (Held held : Held.values()) {
            counts.put(held, new Count());
        }
    }

    /** Returns when the frame may go on: mostly at once. */
    void pass(byte[] frame) throws InterruptedException {
        synchronized (this) {
            Held held = kind(frame);
            if (held == null) {
                return;
            }
            Count count = counts.get(held);
            int number = ++count.arrived;
            notifyAll();
            while (!open && count.released < number) {
                wait();
            }
        }
    }

    /** Waits until the n-th frame of this kind has come. */
    synchronized void await(Held held, int number) throws InterruptedException {
        while (counts.get(held).arrived < number) {
            wait();
        }
    }

    /** Waits until m0 has reported that it holds all partitions. */
    synchronized void awaitAllReported() throws InterruptedException {
        while (!reportedAll) {
            wait();
        }
    }

    /** Lets one more frame of this kind go on. */
    synchronized void release(Held held) {
        counts.get(held).released++;
        notifyAll();
    }

    /** Holds nothing back any more. */
    synchronized void open() {
        open = true;
        notifyAll();
    }

    private Held kind(byte[] frame) {
        ByteBuffer bytes = ByteBuffer.wrap(frame);
        short api = bytes.getShort(0);
        if (api == ApiKeys.TXN_OFFSET_COMMIT.id) {
            return Held.COMMIT;
        }
        if (api != ApiKeys.CONSUMER_GROUP_HEARTBEAT.id) {
            return null;
        }
        RequestHeader header = RequestHeader.parse(bytes);
        ConsumerGroupHeartbeatRequestData heartbeat =
                ConsumerGroupHeartbeatRequest.parse(new ByteBufferAccessor(bytes), header.apiVersion()).data();
        if (heartbeat.memberEpoch() <= 0 || heartbeat.topicPartitions() == null) {
            return null;
        }
        int reported = heartbeat.topicPartitions().stream().mapToInt(topic -> topic.partitions().size()).sum();
        if (reported == allPartitions) {
            reportedAll = true;
            notifyAll();
            return null;
        }
        return reportedAll ? Held.ACKNOWLEDGEMENT : null;
    }
}
