package dev.fencepost.broker.demo;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/**
 * One run: a key gets a value, an application's transaction ends, other keys fill the cleaner's map, and the same
 * application deletes the key in a second transaction, which it commits. Whether the first one was aborted is all that the
 * two runs differ in, and nothing that should matter to the key.
 */
final class DeletedKeyRun {
    /** One key more than a map of 1 MiB holds, and a few. */
    private static final int FILLERS = 39_400;
    private static final String KEY = "k";
    private static final long SETTLE_MS = 500;
    /** Rounds after the deletion is settled, which could still mend it. */
    private static final int ROUNDS_AFTERWARDS = 3;

    private final String bootstrapServers;
    private final Admin admin;
    private final TopicPartition partition;
    private final boolean aborts;
    private final Consumer<String> say;
    private int ticks;

    DeletedKeyRun(String bootstrapServers, Admin admin, boolean aborts, Consumer<String> say) {
        this.bootstrapServers = bootstrapServers;
        this.admin = admin;
        this.partition = new TopicPartition(aborts ? "aborted-before" : "committed-before", 0);
        this.aborts = aborts;
        this.say = say;
    }

    /**
     * What a reader of committed records finds of the key.
     *
     * @param before before the cleaner came
     * @param after when the tombstone is gone, and some rounds later
     */
    record Result(List<String> before, List<String> after) {}

    Result run() throws Exception {
        admin.createTopics(List.of(new NewTopic(partition.topic(), 1, (short) 1).configs(Map.of(
                "cleanup.policy", "compact", "delete.retention.ms", "2000", "min.cleanable.dirty.ratio", "0")))).all().get();
        write();
        List<String> before = find();
        say.accept("a reader of what is committed finds of " + KEY + ": " + before);
        rollWithEachRecord();
        List<String> after = before;
        while (after.stream().anyMatch(found -> found.endsWith("null"))) {
            tick();
            List<String> now = find();
            if (!now.equals(after)) {
                say.accept("after more rounds: " + now);
            }
            after = now;
        }
        for (int round = 0; round < ROUNDS_AFTERWARDS; round++) {
            tick();
        }
        return new Result(before, find());
    }

    private void write() {
        try (Producer<String, String> plain = Clients.plainProducer(bootstrapServers);
                Producer<String, String> application =
                        Clients.transactionalProducer(bootstrapServers, partition.topic() + "-application")) {
            send(plain, KEY, "v");
            plain.flush();
            application.initTransactions();
            application.beginTransaction();
            send(application, "x", "1");
            application.flush();
            if (aborts) {
                application.abortTransaction();
            } else {
                application.commitTransaction();
            }
            for (int filler = 0; filler < FILLERS; filler++) {
                send(plain, "filler-" + filler, "");
            }
            plain.flush();
            application.beginTransaction();
            send(application, KEY, null);
            application.commitTransaction();
        }
        say.accept(KEY + "=v; a transaction, " + (aborts ? "aborted" : "committed") + "; " + FILLERS
                + " other keys; a transaction that deletes " + KEY + ", committed");
    }

    private void send(Producer<String, String> producer, String key, String value) {
        producer.send(new ProducerRecord<>(partition.topic(), partition.partition(), key, value));
    }

    /** From now on the next record closes the segment, so that the cleaner may read it. */
    private void rollWithEachRecord() throws Exception {
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, partition.topic()),
                List.of(new AlterConfigOp(new ConfigEntry("segment.ms", "100"), AlterConfigOp.OpType.SET)))).all().get();
    }

    /** A record, for without new ones there are no rounds; and the time that the cleaner needs. */
    private void tick() {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(SETTLE_MS));
        try (Producer<String, String> plain = Clients.plainProducer(bootstrapServers)) {
            send(plain, "tick-" + ticks++, "");
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(SETTLE_MS));
    }

    /** Reads all that is committed, as a new consumer does. */
    private List<String> find() {
        List<String> found = new ArrayList<>();
        try (var reader = Clients.readCommitted(bootstrapServers)) {
            reader.assign(List.of(partition));
            reader.seekToBeginning(List.of(partition));
            long stable = reader.endOffsets(List.of(partition)).get(partition);
            while (reader.position(partition) < stable) {
                for (var read : reader.poll(Duration.ofMillis(500))) {
                    if (read.key().equals(KEY)) {
                        found.add("offset " + read.offset() + ": " + read.value());
                    }
                }
            }
        }
        return found;
    }
}
