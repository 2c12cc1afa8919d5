package dev.fencepost.broker.demo;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The stock clients of the demonstration, all configured alike, and what they read and write. */
final class Clients {
    /** Longer than the default of 30 s, so that a slow machine does not break off what is held back on purpose. */
    private static final int REQUEST_TIMEOUT_MS = 90_000;

    private Clients() {}

    /** A member of the group, with the protocol of KIP-848. */
    static Consumer<String, String> member(String bootstrapServers, String group, String name) {
        Map<String, Object> settings = reader(bootstrapServers);
        settings.put("client.id", name);
        settings.put("group.id", group);
        settings.put("group.protocol", "consumer");
        return new KafkaConsumer<>(settings);
    }

    /** A reader of committed records that belongs to no group. */
    static Consumer<String, String> readCommitted(String bootstrapServers) {
        return new KafkaConsumer<>(reader(bootstrapServers));
    }

    /** The same, but one that fetches a batch at a time, as a slow reader of a large log does. */
    static Consumer<String, String> batchwise(String bootstrapServers) {
        Map<String, Object> settings = reader(bootstrapServers);
        settings.put("max.partition.fetch.bytes", 1);
        return new KafkaConsumer<>(settings);
    }

    private static Map<String, Object> reader(String bootstrapServers) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrapServers);
        settings.put("isolation.level", "read_committed");
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", false);
        settings.put("request.timeout.ms", REQUEST_TIMEOUT_MS);
        settings.put("key.deserializer", StringDeserializer.class);
        settings.put("value.deserializer", StringDeserializer.class);
        return settings;
    }

    static Producer<String, String> plainProducer(String bootstrapServers) {
        return new KafkaProducer<>(writer(bootstrapServers));
    }

    static Producer<String, String> transactionalProducer(String bootstrapServers, String transactionalId) {
        Map<String, Object> settings = writer(bootstrapServers);
        settings.put("transactional.id", transactionalId);
        return new KafkaProducer<>(settings);
    }

    private static Map<String, Object> writer(String bootstrapServers) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrapServers);
        settings.put("request.timeout.ms", REQUEST_TIMEOUT_MS);
        settings.put("delivery.timeout.ms", 2 * REQUEST_TIMEOUT_MS);
        settings.put("max.block.ms", REQUEST_TIMEOUT_MS);
        settings.put("key.serializer", StringSerializer.class);
        settings.put("value.serializer", StringSerializer.class);
        return settings;
    }

    /** What a member makes of an input: a record whose key says which input, and whose value says who. */
    static ProducerRecord<String, String> output(String topic, ConsumerRecord<String, String> input, String by) {
        return new ProducerRecord<>(topic, input.partition() + "@" + input.offset(), by);
    }
}
