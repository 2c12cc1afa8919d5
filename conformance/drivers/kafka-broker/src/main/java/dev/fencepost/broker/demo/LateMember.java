package dev.fencepost.broker.demo;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/**
 * m0: a member with two threads, so that a slow transaction does not keep it from polling. One polls, and gives up what is
 * asked back while it does; the other writes the outputs of a batch and commits them with its offsets. While a batch is
 * being written, the consumer is paused.
 */
final class LateMember implements AutoCloseable {
    private static final String NAME = "m0";
    private static final Duration POLL = Duration.ofMillis(100);

    private final Topics topics;
    private final int batchSize;
    private final Consumer<String, String> consumer;
    private final Producer<String, String> producer;
    private final Thread polling;
    private final Thread producing;
    private final CompletableFuture<Batch> handedOver = new CompletableFuture<>();
    private final CompletableFuture<String> end = new CompletableFuture<>();
    private volatile boolean leaving;

    /** What the polling thread hands over: the inputs, and who it is that read them, as of then. */
    private record Batch(List<ConsumerRecord<String, String>> inputs, ConsumerGroupMetadata reader) {}

    LateMember(String bootstrapServers, Topics topics, int batchSize) {
        this.topics = topics;
        this.batchSize = batchSize;
        consumer = Clients.member(bootstrapServers, topics.group(), NAME);
        producer = Clients.transactionalProducer(bootstrapServers, topics.group() + "-" + NAME);
        polling = thread("m0-polling", this::poll);
        producing = thread("m0-producing", this::produce);
    }

    /** How the transaction ended: {@code committed}, or the reason why it was aborted. */
    CompletableFuture<String> end() {
        return end;
    }

    private void poll() {
        try (consumer) {
            consumer.subscribe(List.of(topics.inputs()));
            List<ConsumerRecord<String, String>> inputs = new ArrayList<>();
            while (!leaving) {
                consumer.poll(POLL).forEach(inputs::add);
                if (inputs.size() == batchSize) {
                    consumer.pause(consumer.assignment());
                    handedOver.complete(new Batch(inputs, consumer.groupMetadata()));
                }
            }
        }
    }

    private void produce() {
        try (producer) {
            producer.initTransactions();
            Batch batch = handedOver.join();
            producer.beginTransaction();
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (ConsumerRecord<String, String> input : batch.inputs()) {
                producer.send(Clients.output(topics.outputs(), input, NAME));
                offsets.merge(new TopicPartition(input.topic(), input.partition()),
                        new OffsetAndMetadata(input.offset() + 1),
                        (one, other) -> one.offset() > other.offset() ? one : other);
            }
            try {
                producer.sendOffsetsToTransaction(offsets, batch.reader());
                producer.commitTransaction();
                end.complete("committed");
            } catch (KafkaException refused) {
                producer.abortTransaction();
                end.complete("aborted: " + refused.getClass().getSimpleName() + ": " + refused.getMessage());
            }
        } catch (RuntimeException failure) {
            end.completeExceptionally(failure);
        }
    }

    private static Thread thread(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    @Override
    public void close() throws InterruptedException {
        leaving = true;
        handedOver.cancel(false);
        polling.join(10_000);
        producing.join(10_000);
    }
}
