package dev.fencepost.broker.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatRequest;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.TxnOffsetCommitRequest;
import org.junit.jupiter.api.Test;

class FrameGateTest {
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private final FrameGate gate = new FrameGate(2);

    private static byte[] frame(AbstractRequest request) {
        ByteBuffer bytes = request.serializeWithHeader(
                new RequestHeader(request.apiKey(), request.version(), "client", 1));
        byte[] frame = new byte[bytes.remaining()];
        bytes.get(frame);
        return frame;
    }

    private static byte[] heartbeat(int epoch, List<Integer> owned) {
        ConsumerGroupHeartbeatRequestData data = new ConsumerGroupHeartbeatRequestData()
                .setGroupId("g").setMemberId("m").setMemberEpoch(epoch);
        if (owned != null) {
            data.setTopicPartitions(List.of(new ConsumerGroupHeartbeatRequestData.TopicPartitions()
                    .setTopicId(Uuid.randomUuid()).setPartitions(owned)));
        }
        return frame(new ConsumerGroupHeartbeatRequest(data, (short) 1));
    }

    private static byte[] commit() {
        return frame(TxnOffsetCommitRequest.Builder.forTopicNames(new TxnOffsetCommitRequestData()
                .setGroupId("g").setTransactionalId("x").setTopics(List.of()), true).build((short) 5));
    }

    private Thread passing(byte[] frame) {
        Thread thread = new Thread(() -> {
            try {
                gate.pass(frame);
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    @Test
    void other_heartbeats_pass() {
        assertTimeoutPreemptively(LIMIT, () -> {
            gate.pass(heartbeat(3, null));
            gate.pass(heartbeat(3, List.of(0, 1)));
            gate.pass(heartbeat(0, List.of()));
        });
    }

    @Test
    void fewer_partitions_before_all_were_reported_acknowledge_no_revocation() {
        assertTimeoutPreemptively(LIMIT, () -> {
            gate.pass(heartbeat(2, List.of()));
            gate.pass(heartbeat(2, List.of(0, 1)));
            gate.awaitAllReported();
        });
    }

    @Test
    void an_acknowledgement_waits_for_its_own_release() {
        assertTimeoutPreemptively(LIMIT, () -> {
            gate.pass(heartbeat(3, List.of(0, 1)));
            Thread acknowledgement = passing(heartbeat(3, List.of(0)));
            gate.await(FrameGate.Held.ACKNOWLEDGEMENT, 1);
            assertEquals(Thread.State.WAITING, acknowledgement.getState());
            gate.release(FrameGate.Held.COMMIT);
            assertTrue(acknowledgement.isAlive());
            gate.release(FrameGate.Held.ACKNOWLEDGEMENT);
            acknowledgement.join();
        });
    }

    @Test
    void a_commit_waits_until_the_gate_is_open() {
        assertTimeoutPreemptively(LIMIT, () -> {
            Thread commit = passing(commit());
            gate.await(FrameGate.Held.COMMIT, 1);
            assertEquals(Thread.State.WAITING, commit.getState());
            gate.open();
            commit.join();
        });
    }
}
