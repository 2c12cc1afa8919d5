package fencepost.kafka.consumer;

import fencepost.kafka.ManualClock;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.InvalidOffsetException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.internals.AutoOffsetResetStrategy;
import org.apache.kafka.clients.consumer.internals.ConsumerMetadata;
import org.apache.kafka.clients.consumer.internals.SubscriptionState;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.utils.Time;

/**
 * One process of the application: a {@code KafkaConsumer} of either group protocol on a {@link ScriptedClient}.
 *
 * <p>The classic consumer does everything in the calls of the application, so that it runs on a clock that stands still. The newer
 * one has a thread of its own, which waits by the system's clock: a step is over when that thread has found nothing to do a few times.
 */
final class ReaderProcess implements AutoCloseable {
    static final TopicPartition PARTITION = new TopicPartition(ConsumerMessages.TOPIC, 0);
    static final String NEWER = "consumer";
    private static final int REQUEST_TIMEOUT_MS = 3_600_000;
    private static final int RETRY_BACKOFF_MS = 1_800_000;
    /** Polls that bring nothing about, after which nothing more will happen. */
    private static final int QUIET = 3;
    /** How often the newer consumer's thread finds nothing to do when it is at rest. */
    private static final int IDLE = 3;
    private static final Duration LONGEST_POLL = Duration.ofSeconds(2);
    private static final int MOST_POLLS = 1000;
    private static final short LAST_WITHOUT_EPOCHS = 2;
    private static final short FIRST_OFFSET_FOR_LEADER_EPOCH = 0;

    /** What a poll came to: records, an exception, or neither. */
    record Polled(ConsumerRecords<String, String> records, InvalidOffsetException thrown) {
        static final Polled NOTHING = new Polled(ConsumerRecords.empty(), null);
    }

    /** How a consumer is set up. */
    record Settings(String groupProtocol, String reset, boolean readCommitted, boolean oldBrokers) {
        boolean isNewer() {
            return groupProtocol.equals(NEWER);
        }
    }

    private final Settings settings;
    private final List<Node> nodes;
    private final Time time;
    private final ScriptedClient client;
    private final SubscriptionState subscriptions;
    private final ConsumerMetadata metadata;
    private final KafkaConsumer<String, String> consumer;

    ReaderProcess(Settings settings, int number, List<Node> nodes, Coordinator coordinator) {
        this.settings = settings;
        this.nodes = nodes;
        time = settings.isNewer() ? new ShiftedClock() : new ManualClock();
        client = new ScriptedClient(time, nodes, coordinator, settings.isNewer());
        ConsumerConfig config = config(settings, number);
        Object logContext = ConsumerRelease.newLogContext();
        subscriptions = ConsumerRelease.make(SubscriptionState.class, logContext, AutoOffsetResetStrategy.fromString(settings.reset()));
        metadata = ConsumerRelease.make(
            ConsumerMetadata.class, config, subscriptions, logContext, new ClusterResourceListeners());
        consumer = ConsumerRelease.newConsumer(
            logContext, time, config, new StringDeserializer(), client, subscriptions, metadata);
        ApiVersions versions = ConsumerRelease.apiVersions(consumer, settings.isNewer());
        fill(versions, settings.oldBrokers());
    }

    private void fill(ApiVersions versions, boolean oldBrokers) {
        NodeApiVersions known = oldBrokers
            ? NodeApiVersions.create(
                ApiKeys.OFFSET_FOR_LEADER_EPOCH.id, FIRST_OFFSET_FOR_LEADER_EPOCH, LAST_WITHOUT_EPOCHS)
            : NodeApiVersions.create();
        nodes.forEach(node -> versions.update(node.idString(), known));
    }

    /** What a client would know of the brokers' requests. */
    ApiVersions versions(boolean oldBrokers) {
        ApiVersions versions = new ApiVersions();
        fill(versions, oldBrokers);
        return versions;
    }

    ConsumerMetadata metadata() {
        return metadata;
    }

    private static ConsumerConfig config(Settings settings, int number) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", "localhost:9099");
        config.put("group.id", "g");
        config.put("client.id", "consumer-" + number);
        config.put("group.protocol", settings.groupProtocol());
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", settings.reset());
        config.put("isolation.level", settings.readCommitted() ? "read_committed" : "read_uncommitted");
        config.put("key.deserializer", StringDeserializer.class.getName());
        config.put("value.deserializer", StringDeserializer.class.getName());
        config.put("request.timeout.ms", Integer.toString(REQUEST_TIMEOUT_MS));
        // Longer than a trace takes by the newer consumer's clock, so that they are over in `elapse` alone.
        config.put("retry.backoff.ms", Integer.toString(RETRY_BACKOFF_MS));
        config.put("retry.backoff.max.ms", Integer.toString(RETRY_BACKOFF_MS));
        config.put("enable.metrics.push", "false");
        config.put("metric.reporters", "");
        return new ConsumerConfig(config);
    }

    ScriptedClient client() {
        return client;
    }

    KafkaConsumer<String, String> consumer() {
        return consumer;
    }

    SubscriptionState subscriptions() {
        return subscriptions;
    }

    /** The application polls until nothing more happens, or a poll returns records, or one throws. */
    Polled poll() {
        int quiet = 0;
        for (int polls = 0; quiet < QUIET; polls++) {
            if (polls == MOST_POLLS) {
                throw new IllegalStateException("the consumer does not come to rest");
            }
            long before = client.activity();
            try {
                ConsumerRecords<String, String> records = settings.isNewer() ? pollUntilIdle() : consumer.poll(Duration.ZERO);
                if (!records.isEmpty()) {
                    settle();
                    return new Polled(records, null);
                }
            } catch (InvalidOffsetException thrown) {
                settle();
                return new Polled(ConsumerRecords.empty(), thrown);
            }
            quiet = client.activity() == before ? quiet + 1 : 0;
        }
        return Polled.NOTHING;
    }

    /** The newer consumer polls until its thread has nothing to do, and is woken up then. */
    private ConsumerRecords<String, String> pollUntilIdle() {
        settle();
        client.whenIdle(IDLE, this::releaseOrWakeUp);
        try {
            return consumer.poll(LONGEST_POLL);
        } catch (WakeupException nothing) {
            return ConsumerRecords.empty();
        } finally {
            client.whenIdle(IDLE, null);
            ConsumerRelease.forgetWakeup(consumer);
            // What the poll asked for and did not get, it asks for no more.
            ((ShiftedClock) time).advance(LONGEST_POLL.toMillis());
        }
    }

    private void releaseOrWakeUp() {
        if (client.isHolding()) {
            client.release();
            client.whenIdle(IDLE, this::releaseOrWakeUp);
        } else {
            consumer.wakeup();
        }
    }

    /** The newer consumer's thread comes to rest; the classic one has none. */
    void settle() {
        if (settings.isNewer()) {
            CountDownLatch idle = new CountDownLatch(1);
            client.whenIdle(IDLE, idle::countDown);
            try {
                idle.await();
            } catch (InterruptedException problem) {
                Thread.currentThread().interrupt();
            }
            client.whenIdle(IDLE, null);
        }
    }

    /** A metadata answer arrives. */
    void hear(MetadataResponse response) {
        metadata.updateWithCurrentRequestVersion(response, false, time.milliseconds());
    }

    /** All waits run out. */
    void elapse() {
        if (time instanceof ManualClock manual) {
            manual.advance(REQUEST_TIMEOUT_MS + 1);
        } else if (time instanceof ShiftedClock shifted) {
            shifted.advance(REQUEST_TIMEOUT_MS + 1);
        }
    }

    /** The process is gone. */
    @Override
    public void close() {
        consumer.close(Duration.ZERO);
    }
}
