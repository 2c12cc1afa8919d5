package dev.fencepost.broker.demo;

import dev.fencepost.broker.SingleNodeBroker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * One run: m0 reads half of the inputs and is slow to commit them; others join meanwhile, take partitions over and commit
 * all of those; then m0's commit arrives. With {@code m2}, m0 is asked for a second round of partitions before it has
 * acknowledged the first, which is all that H1 needs.
 */
final class Run {
    private static final int HALF = 50;
    private static final Set<TransactionState> ENDED =
            Set.of(TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT);
    private static final int TAKEN_OVER = Topics.PARTITIONS / 2;

    private final SingleNodeBroker broker;
    private final DelayingProxy proxy;
    private final Admin admin;
    private final Topics topics;
    private final boolean withM2;
    private final Consumer<String> say;

    Run(SingleNodeBroker broker, DelayingProxy proxy, Admin admin, boolean withM2, Consumer<String> say) {
        this.broker = broker;
        this.proxy = proxy;
        this.admin = admin;
        this.topics = new Topics(withM2 ? "race" : "control");
        this.withM2 = withM2;
        this.say = say;
    }

    /**
     * What came out.
     *
     * @param end how m0's transaction ended
     * @param before the committed offsets of the partitions that were taken over, before m0's commit arrived
     * @param after the same afterwards
     * @param outputs the number of read_committed outputs
     * @param inputs the number of distinct inputs that they came from
     * @param twice how often two members made an output of one input, by the two
     */
    record Result(String end, Map<Integer, Long> before, Map<Integer, Long> after, int outputs, int inputs,
            Map<String, Integer> twice) {
        boolean m0Committed() {
            return end.equals("committed");
        }
    }

    Result run() throws Exception {
        admin.createTopics(List.of(new NewTopic(topics.inputs(), Topics.PARTITIONS, (short) 1),
                new NewTopic(topics.outputs(), 1, (short) 1))).all().get();
        broker.awaitMetadata();
        writeInputs();
        FrameGate gate = new FrameGate(Topics.PARTITIONS);
        proxy.use(gate);
        List<AutoCloseable> members = new ArrayList<>();
        try {
            String throughProxy = SingleNodeBroker.HOST + ":" + proxy.port();
            LateMember m0 = new LateMember(throughProxy, topics, HALF * Topics.PARTITIONS);
            members.add(m0);
            gate.awaitAllReported();
            gate.await(FrameGate.Held.COMMIT, 1);
            say.accept("m0 has all " + Topics.PARTITIONS + " partitions, has read " + HALF
                    + " inputs of each and written their outputs; its TxnOffsetCommit is held back");
            writeInputs();

            members.add(new Member(broker.bootstrapServers(), topics, "m1"));
            gate.await(FrameGate.Held.ACKNOWLEDGEMENT, 1);
            say.accept("m1 joins; m0 gives up " + TAKEN_OVER + " partitions; its acknowledgement is held back");
            if (withM2) {
                members.add(new Member(broker.bootstrapServers(), topics, "m2"));
                await(this::group, group -> group.members().size() == 3
                        && group.groupEpoch().equals(group.targetAssignmentEpoch()));
                say.accept("m2 joins; the target is computed anew: m0 is to give up one more");
            }
            gate.release(FrameGate.Held.ACKNOWLEDGEMENT);
            if (withM2) {
                gate.await(FrameGate.Held.ACKNOWLEDGEMENT, 2);
                say.accept("m0's acknowledgement arrives, and m0 is asked for that one at once; the second is held back");
            } else {
                say.accept("m0's acknowledgement arrives");
            }
            Map<Integer, Long> before = await(this::offsets,
                    offsets -> offsets.size() == TAKEN_OVER
                            && offsets.values().stream().allMatch(offset -> offset == 2 * HALF));
            say.accept("the new owners have processed and committed them: " + before);

            gate.release(FrameGate.Held.COMMIT);
            String end = m0.end().get();
            await(this::transactions, transactions -> transactions.stream()
                    .allMatch(transaction -> ENDED.contains(transaction.state())));
            Map<Integer, Long> after = offsets();
            say.accept("m0's TxnOffsetCommit arrives; its transaction is " + end);
            say.accept("committed offsets now: " + after);
            Map<Integer, Long> afterwards = new TreeMap<>(after);
            afterwards.keySet().retainAll(before.keySet());
            return count(end, before, afterwards);
        } finally {
            gate.open();
            for (AutoCloseable member : members) {
                member.close();
            }
        }
    }

    private void writeInputs() {
        try (Producer<String, String> producer = Clients.plainProducer(broker.bootstrapServers())) {
            for (int partition = 0; partition < Topics.PARTITIONS; partition++) {
                for (int record = 0; record < HALF; record++) {
                    producer.send(new ProducerRecord<>(topics.inputs(), partition, null, "input"));
                }
            }
        }
    }

    private ConsumerGroupDescription group() throws Exception {
        return admin.describeConsumerGroups(List.of(topics.group())).all().get().get(topics.group());
    }

    /** The committed offsets by partition of the inputs. */
    private Map<Integer, Long> offsets() throws Exception {
        Map<Integer, Long> offsets = new TreeMap<>();
        admin.listConsumerGroupOffsets(topics.group()).partitionsToOffsetAndMetadata().get()
                .forEach((partition, offset) -> {
                    if (offset != null) {
                        offsets.put(partition.partition(), offset.offset());
                    }
                });
        return offsets;
    }

    /** A producer is told that its transaction is committed a moment before the markers are written. */
    private Collection<TransactionListing> transactions() throws Exception {
        return admin.listTransactions().all().get();
    }

    private Result count(String end, Map<Integer, Long> before, Map<Integer, Long> after) {
        int outputs = 0;
        Map<String, TreeSet<String>> byInput = new HashMap<>();
        TopicPartition all = new TopicPartition(topics.outputs(), 0);
        try (var reader = Clients.readCommitted(broker.bootstrapServers())) {
            reader.assign(List.of(all));
            reader.seekToBeginning(List.of(all));
            long stable = reader.endOffsets(List.of(all)).get(all);
            while (reader.position(all) < stable) {
                for (var output : reader.poll(Duration.ofMillis(500))) {
                    outputs++;
                    byInput.computeIfAbsent(output.key(), input -> new TreeSet<>()).add(output.value());
                }
            }
        }
        Map<String, Integer> twice = new TreeMap<>();
        byInput.values().stream().filter(by -> by.size() > 1)
                .forEach(by -> twice.merge(String.join(" and ", by), 1, Integer::sum));
        return new Result(end, before, after, outputs, byInput.size(), twice);
    }

    /** Asks again until it is so. The whole demonstration has a time limit; this has none of its own. */
    private static <T> T await(Callable<T> ask, Predicate<T> until) throws Exception {
        while (true) {
            T answer = ask.call();
            if (until.test(answer)) {
                return answer;
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
        }
    }
}
