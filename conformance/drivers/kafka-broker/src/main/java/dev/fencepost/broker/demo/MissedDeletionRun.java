package dev.fencepost.broker.demo;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/**
 * One run: k=v, other records, the deletion of k. Readers begin at the start of the log again and again; the last one that
 * was given k=v waits a little and reads on to the end. It began less than {@code delete.retention.ms} ago, which is the
 * time that Kafka promises it for meeting the deletion.
 */
final class MissedDeletionRun {
    private static final String KEY = "k";
    /** The first fillers are a batch of their own, so that a reader's first fetches stay far from the deletion. */
    private static final int FIRST_FILLERS = 6;
    private static final long LOOK_MS = 150;
    private static final long TICK_MS = 1_000;

    private final String bootstrapServers;
    private final Admin admin;
    private final Plan plan;
    private final TopicPartition partition;
    private final Narrator say;
    private long nextTick;
    private int ticks;

    MissedDeletionRun(String bootstrapServers, Admin admin, Plan plan, Narrator say) {
        this.bootstrapServers = bootstrapServers;
        this.admin = admin;
        this.plan = plan;
        this.partition = new TopicPartition(plan.topic(), 0);
        this.say = say;
    }

    /** Tells whoever looks on. */
    interface Narrator {
        void accept(String line);
    }

    /** Writes the record that deletes k. */
    interface Deletion {
        void write(String topic) throws Exception;
    }

    /**
     * What is done.
     *
     * @param fillers records between the value and its deletion
     * @param fillerKeys how many keys they have
     * @param fillerBytes the size of each one's value
     * @param dirtyRatio {@code min.cleanable.dirty.ratio}
     * @param retentionMs {@code delete.retention.ms}
     * @param quietMs from the record that makes the first round possible until others come, each of which makes one possible
     * @param pauseMs how long the reader waits once k=v is gone
     * @param deletion how k is deleted
     */
    record Plan(String topic, int fillers, int fillerKeys, int fillerBytes, String dirtyRatio, long retentionMs, long quietMs,
            long pauseMs, Deletion deletion) {}

    /**
     * What came out.
     *
     * @param tookMs from the reader's beginning until it was at the end
     * @param told what it was given of k after the value
     */
    record Result(long tookMs, List<String> told) {}

    Result run() throws Exception {
        admin.createTopics(List.of(new NewTopic(plan.topic(), 1, (short) 1).configs(Map.of(
                "cleanup.policy", "compact", "delete.retention.ms", Long.toString(plan.retentionMs()),
                "min.cleanable.dirty.ratio", plan.dirtyRatio())))).all().get();
        write();
        say.accept("k=v; " + plan.fillers() + " records of other keys; k is deleted");
        rollWithEachRecord();
        return readOn();
    }

    private void write() throws Exception {
        String filler = "-".repeat(plan.fillerBytes());
        try (Producer<String, String> producer = Clients.plainProducer(bootstrapServers)) {
            send(producer, KEY, "v");
            producer.flush();
            for (int number = 0; number < plan.fillers(); number++) {
                if (number == FIRST_FILLERS) {
                    producer.flush();
                }
                send(producer, "filler-" + number % plan.fillerKeys(), filler);
            }
        }
        plan.deletion().write(plan.topic());
    }

    private void send(Producer<String, String> producer, String key, String value) {
        producer.send(new ProducerRecord<>(partition.topic(), partition.partition(), key, value));
    }

    /** From now on the next record closes the segment, so that the cleaner may read it. */
    private void rollWithEachRecord() throws Exception {
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, partition.topic()),
                List.of(new AlterConfigOp(new ConfigEntry("segment.ms", "100"), AlterConfigOp.OpType.SET)))).all().get();
        Thread.sleep(500);
    }

    private void tick() {
        try (Producer<String, String> producer = Clients.plainProducer(bootstrapServers)) {
            send(producer, "tick-" + ticks++, "");
        }
    }

    private void tickIfDue() {
        if (ticks == 0 || System.nanoTime() - nextTick > 0) {
            nextTick = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ticks == 0 ? plan.quietMs() : TICK_MS);
            tick();
        }
    }

    private Result readOn() throws Exception {
        long began = 0;
        try (Consumer<String, String> one = Clients.batchwise(bootstrapServers);
                Consumer<String, String> other = Clients.batchwise(bootstrapServers)) {
            one.assign(List.of(partition));
            other.assign(List.of(partition));
            Consumer<String, String> looking = one;
            Consumer<String, String> waiting = other;
            while (true) {
                looking.seekToBeginning(List.of(partition));
                long now = System.nanoTime();
                if (!isGivenValue(looking)) {
                    break;
                }
                // The one that was given k=v stays where it is; the next look is the other's.
                Consumer<String, String> gave = looking;
                looking = waiting;
                waiting = gave;
                began = now;
                tickIfDue();
                Thread.sleep(LOOK_MS);
            }
            if (ticks == 0) {
                throw new IllegalStateException("k=v was not found though there was no round yet");
            }
            say.accept("a new reader is not given k=v any more; the last one that was began " + since(began) + " ms ago");
            pause();
            List<String> told = new ArrayList<>();
            long end = waiting.endOffsets(List.of(partition)).get(partition);
            while (waiting.position(partition) < end) {
                waiting.poll(Duration.ofMillis(500)).forEach(read -> {
                    if (read.key().equals(KEY)) {
                        told.add("offset " + read.offset() + ": " + read.value());
                    }
                });
            }
            return new Result(since(began), told);
        }
    }

    private static boolean isGivenValue(Consumer<String, String> reader) {
        boolean given = false;
        for (var read : reader.poll(Duration.ofSeconds(2))) {
            given |= read.key().equals(KEY) && read.value() != null;
        }
        return given;
    }

    private void pause() throws InterruptedException {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(plan.pauseMs());
        while (System.nanoTime() - until < 0) {
            tickIfDue();
            Thread.sleep(50);
        }
    }

    private static long since(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos);
    }
}
