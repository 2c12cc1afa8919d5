package dev.fencepost.broker.demo;

import java.time.Duration;
import java.util.List;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.producer.Producer;

/**
 * A member as in any tutorial on exactly-once: one thread polls, writes an output for each input, and commits both in one
 * transaction.
 */
final class Member implements AutoCloseable {
    private static final Duration POLL = Duration.ofMillis(100);

    private final String name;
    private final Topics topics;
    private final Consumer<String, String> consumer;
    private final Producer<String, String> producer;
    private final Thread thread;
    private volatile boolean leaving;

    Member(String bootstrapServers, Topics topics, String name) {
        this.name = name;
        this.topics = topics;
        consumer = Clients.member(bootstrapServers, topics.group(), name);
        producer = Clients.transactionalProducer(bootstrapServers, topics.group() + "-" + name);
        thread = new Thread(this::run, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        try (consumer; producer) {
            producer.initTransactions();
            consumer.subscribe(List.of(topics.inputs()));
            while (!leaving) {
                ConsumerRecords<String, String> records = consumer.poll(POLL);
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(Clients.output(topics.outputs(), record, name));
                }
                producer.sendOffsetsToTransaction(records.nextOffsets(), consumer.groupMetadata());
                producer.commitTransaction();
            }
        }
    }

    @Override
    public void close() throws InterruptedException {
        leaving = true;
        thread.join(10_000);
    }
}
