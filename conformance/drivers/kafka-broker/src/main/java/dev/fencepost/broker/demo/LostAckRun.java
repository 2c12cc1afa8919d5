package dev.fencepost.broker.demo;

import dev.fencepost.broker.cluster.BrokerView;
import dev.fencepost.broker.cluster.Cluster;
import dev.fencepost.broker.cluster.Node;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;

/**
 * One run: A leads, C has what A has, B is two records behind. B is elected, so that C cuts its log back to B's; then B
 * leaves, and A leads again. Whether A hears of B's election before it hears of its own is all that the two runs differ in.
 *
 * <p>Each step is looked at before the next one is taken. What a pause on a busy machine can spoil is a {@link Missed}, which
 * says nothing about Kafka.
 */
final class LostAckRun {
    private static final int BEFORE = 10;
    private static final int LATE = 2;
    /** A fetch of a follower, and of metadata, waits half a second at most: who is paused for this long has none under way. */
    private static final long FETCH_OVER_MS = 1_000;
    private static final long PATIENCE_MS = 5_000;
    /** A broker that is gone is fenced after nine seconds; one that starts needs up to half a minute on a busy machine. */
    private static final long CLUSTER_MS = 60_000;

    private static final Comparator<String> BY_NUMBER =
            Comparator.comparingInt(record -> Integer.parseInt(record.substring(1)));

    private final Cluster cluster;
    private final Admin admin;
    private final TopicPartition partition;
    private final boolean skips;
    private final Consumer<String> say;
    private final ConcurrentMap<String, Boolean> acknowledged = new ConcurrentHashMap<>();

    LostAckRun(Cluster cluster, Admin admin, String topic, boolean skips, Consumer<String> say) {
        this.cluster = cluster;
        this.admin = admin;
        this.partition = new TopicPartition(topic, 0);
        this.skips = skips;
        this.say = say;
    }

    /** The situation did not come about; what the run would have shown was not seen. */
    static final class Missed extends Exception {
        private static final long serialVersionUID = 1;

        Missed(String what) {
            super(what);
        }
    }

    /**
     * What came out.
     *
     * @param acknowledged what the producer, with acks=all, was told is written
     * @param found what a consumer finds when all three replicas are in the ISR again
     */
    record Result(List<String> acknowledged, List<String> found) {
        List<String> lost() {
            return acknowledged.stream().filter(record -> !found.contains(record)).toList();
        }
    }

    Result run() throws Exception {
        int epoch = begin();
        Producer<String, String> producer = Clients.plainProducer(cluster.bootstrapServers());
        try {
            for (Future<RecordMetadata> sent : write(producer, 0, BEFORE)) {
                sent.get();
            }
            say.accept("m0 to m9 are written and acknowledged");
            await("each replica ends at 10", PATIENCE_MS, () -> logEnd(cluster.a()) == BEFORE
                    && logEnd(cluster.b()) == BEFORE && logEnd(cluster.c()) == BEFORE);
            // The next fetch tells the followers the high watermark.
            Thread.sleep(FETCH_OVER_MS);
            leaveBehind(producer);
            electB(epoch + 1);
            if (!skips) {
                cluster.a().resume();
                await("m10 and m11 are acknowledged", PATIENCE_MS, this::isLateAcknowledged);
                say.accept("A goes on and hears that B leads; the producer is sent there; m10 and m11 are acknowledged");
            }
            returnToA(epoch);
            electC(epoch + 3);
        } finally {
            // At once: it would wait for an answer of a broker that may be paused.
            producer.close(Duration.ZERO);
        }
        cluster.startStopped();
        await("A and B are in the ISR again", CLUSTER_MS, () -> leadership(cluster.c())
                .filter(now -> now.isr().size() == 3).isPresent());
        say.accept("A and B start again and catch up: all three are in the ISR");
        return new Result(acknowledged.keySet().stream().sorted(BY_NUMBER).toList(), find());
    }

    /** A leads, in the returned epoch, though B is preferred: as after a restart of B. */
    private int begin() throws Exception {
        List<Integer> replicas = List.of(cluster.a().id(), cluster.b().id(), cluster.c().id());
        admin.createTopics(List.of(new NewTopic(partition.topic(), Map.of(0, replicas)).configs(Map.of(
                "min.insync.replicas", "2", "unclean.leader.election.enable", "false")))).all().get();
        List<Integer> preferringB = List.of(cluster.b().id(), cluster.a().id(), cluster.c().id());
        admin.alterPartitionReassignments(Map.of(partition, Optional.of(new NewPartitionReassignment(preferringB))))
                .all().get();
        await("A leads, with all in the ISR", PATIENCE_MS, () -> leadership(cluster.c())
                .filter(now -> now.leader() == cluster.a().id() && now.isr().size() == 3).isPresent());
        return leadership(cluster.c()).orElseThrow().leaderEpoch();
    }

    private List<Future<RecordMetadata>> write(Producer<String, String> producer, int from, int to) {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int number = from; number < to; number++) {
            String record = "m" + number;
            sent.add(producer.send(new ProducerRecord<>(partition.topic(), partition.partition(), null, record),
                    (where, failure) -> {
                        if (failure == null) {
                            acknowledged.put(record, true);
                        }
                    }));
        }
        producer.flush();
        return sent;
    }

    /** m10 and m11 are at A and C, and A knows that C has them; B has not. Then A is paused. */
    private void leaveBehind(Producer<String, String> producer) throws Exception {
        cluster.b().pause();
        Thread.sleep(FETCH_OVER_MS);
        Thread sending = new Thread(() -> write(producer, BEFORE, BEFORE + LATE), "late-records");
        sending.setDaemon(true);
        sending.start();
        await("m10 and m11 are at A and C", PATIENCE_MS, () -> logEnd(cluster.a()) == BEFORE + LATE
                && logEnd(cluster.c()) == BEFORE + LATE);
        // C's next fetch says so to A.
        Thread.sleep(FETCH_OVER_MS / 2);
        require(!isAnyLateAcknowledged(), "B had m10 before it was paused");
        cluster.a().pause();
        say.accept("B is paused; m10 and m11 are written to A and copied to C, and not acknowledged; A is paused");
        Thread.sleep(FETCH_OVER_MS);
    }

    private void electB(int epoch) throws Exception {
        cluster.b().resume();
        await("B is elected", PATIENCE_MS, () -> BrokerView.of(cluster.b()).electPreferred(partition) == Errors.NONE
                || leads(cluster.c(), cluster.b(), epoch));
        await("C hears that B leads", PATIENCE_MS, () -> leads(cluster.c(), cluster.b(), epoch));
        await("C has cut its log back to B's", PATIENCE_MS, () -> logEnd(cluster.c()) == BEFORE);
        require(logEnd(cluster.b()) == BEFORE, "B has more than m0 to m9");
        say.accept("B goes on; the preferred leader is elected: B, leader epoch " + epoch
                + "; C follows it and cuts m10 and m11 off its log, which ends at 10");
    }

    /** B hands its leadership over as a broker that is shut down does, and A takes it. */
    private void returnToA(int epoch) throws Exception {
        cluster.c().pause();
        cluster.b().terminate();
        await("A is elected, with C in the ISR", PATIENCE_MS, () -> leads(cluster.b(), cluster.a(), epoch + 2)
                && leadership(cluster.b()).orElseThrow().isr().equals(Set.of(cluster.a().id(), cluster.c().id())));
        cluster.b().kill();
        say.accept("C is paused, B is shut down; A is elected, leader epoch " + (epoch + 2) + ", ISR A and C");
        cluster.a().resume();
        List<String> line = List.of("Leader " + partition + " ", " starts at leader epoch " + (epoch + 2) + " ");
        await("A leads", PATIENCE_MS, () -> cluster.a().said(line).isPresent());
        String said = cluster.a().said(line).orElseThrow();
        int previous = skips ? epoch : epoch + 1;
        require(said.contains("previous leader epoch was " + previous),
                "A was to come from leader epoch " + previous + ", but said: " + said);
        if (skips) {
            // Whether they are acknowledged is what the run is about; if they are not, that is its outcome.
            for (long waited = 0; waited < PATIENCE_MS && !isLateAcknowledged(); waited += 50) {
                Thread.sleep(50);
            }
            say.accept("A goes on, hears of both elections at once and leads; m10 and m11 are "
                    + (isLateAcknowledged() ? "" : "not ") + "acknowledged");
        } else {
            say.accept("A leads");
        }
    }

    /** A dies before C has fetched from it again. C is in the ISR, so that its election is a clean one. */
    private void electC(int epoch) throws Exception {
        cluster.a().kill();
        cluster.c().resume();
        await("C is elected", CLUSTER_MS, () -> leads(cluster.c(), cluster.c(), epoch));
        say.accept("A is killed, C goes on and is elected, leader epoch " + epoch);
    }

    private boolean isLateAcknowledged() {
        return acknowledged.size() == BEFORE + LATE;
    }

    private boolean isAnyLateAcknowledged() {
        return acknowledged.size() > BEFORE;
    }

    private long logEnd(Node broker) throws IOException {
        return BrokerView.of(broker).logEnd(partition);
    }

    private Optional<BrokerView.Leadership> leadership(Node asked) throws IOException {
        return BrokerView.of(asked).leadership(partition);
    }

    private boolean leads(Node asked, Node leader, int epoch) throws IOException {
        return leadership(asked).filter(now -> now.leader() == leader.id() && now.leaderEpoch() == epoch).isPresent();
    }

    /** Reads all that there is, as a new consumer does. */
    private List<String> find() {
        List<String> found = new ArrayList<>();
        try (var reader = Clients.readCommitted(cluster.bootstrapServers())) {
            reader.assign(List.of(partition));
            reader.seekToBeginning(List.of(partition));
            long end = reader.endOffsets(List.of(partition)).get(partition);
            while (reader.position(partition) < end) {
                reader.poll(Duration.ofMillis(500)).forEach(read -> found.add(read.value()));
            }
        }
        return found;
    }

    private static void require(boolean holds, String otherwise) throws Missed {
        if (!holds) {
            throw new Missed(otherwise);
        }
    }

    private interface Question {
        boolean ask() throws IOException;
    }

    private static void await(String what, long patienceMs, Question question) throws Missed, InterruptedException {
        long deadline = System.nanoTime() + patienceMs * 1_000_000;
        while (!isSo(question)) {
            if (System.nanoTime() - deadline > 0) {
                throw new Missed("not seen within " + patienceMs / 1_000 + " s: " + what);
            }
            Thread.sleep(20);
        }
    }

    private static boolean isSo(Question question) {
        try {
            return question.ask();
        } catch (IOException notYet) {
            return false;
        }
    }
}
