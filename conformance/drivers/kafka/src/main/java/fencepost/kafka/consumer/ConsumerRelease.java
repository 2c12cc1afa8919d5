package fencepost.kafka.consumer;

import fencepost.kafka.KafkaRelease;
import java.lang.reflect.Constructor;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.KafkaClient;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.internals.ConsumerMetadata;
import org.apache.kafka.clients.consumer.internals.SubscriptionState;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.utils.Time;

/** Where the consumers of 4.1 to 4.4 differ, and what of them is not public. */
final class ConsumerRelease {
    /** It moved to another package in 4.4. */
    private static final Class<?> LOG_CONTEXT = KafkaRelease.firstOf(
        KafkaRelease.find("org.apache.kafka.common.utils.internals.LogContext"),
        KafkaRelease.find("org.apache.kafka.common.utils.LogContext"));
    private static final int WITH_A_CLIENT = 9;
    private static final int LONGEST_START_MS = 10_000;

    private ConsumerRelease() {
    }

    static Object newLogContext() {
        return KafkaRelease.make(constructor(LOG_CONTEXT, 0));
    }

    /** The constructor with as many arguments. */
    static <T> T make(Class<T> type, Object... arguments) {
        return type.cast(KafkaRelease.make(constructor(type, arguments.length), arguments));
    }

    /** The constructor with which Kafka's own tests put a client under a consumer. */
    @SuppressWarnings("unchecked")
    static KafkaConsumer<String, String> newConsumer(
        Object logContext, Time time, ConsumerConfig config, Deserializer<String> deserializer, KafkaClient client,
        SubscriptionState subscriptions, ConsumerMetadata metadata
    ) {
        return (KafkaConsumer<String, String>) KafkaRelease.make(constructor(KafkaConsumer.class, WITH_A_CLIENT), logContext, time,
            config, deserializer, deserializer, client, subscriptions, metadata, List.of());
    }

    /** What the consumer knows of the brokers' requests, which a real client hears when it connects. */
    static ApiVersions apiVersions(KafkaConsumer<String, String> consumer, boolean isNewer) {
        Object delegate = KafkaRelease.peek(consumer, "delegate");
        if (!isNewer) {
            return (ApiVersions) KafkaRelease.peek(KafkaRelease.peek(delegate, "offsetFetcher"), "apiVersions");
        }
        Object thread = KafkaRelease.peek(KafkaRelease.peek(delegate, "applicationEventHandler"), "networkThread");
        Object managers = KafkaRelease.peek(thread, "requestManagers");
        // The thread makes them when it begins to run.
        for (int waited = 0; managers == null && waited < LONGEST_START_MS; waited++) {
            Time.SYSTEM.sleep(1);
            managers = KafkaRelease.peek(thread, "requestManagers");
        }
        return (ApiVersions) KafkaRelease.peek(KafkaRelease.peek(managers, "offsetsRequestManager"), "apiVersions");
    }

    /** Of the newer consumer: that it was woken up after its poll had ended must not end its next call. */
    static void forgetWakeup(KafkaConsumer<String, String> consumer) {
        Object trigger = KafkaRelease.peek(KafkaRelease.peek(consumer, "delegate"), "wakeupTrigger");
        try {
            KafkaRelease.call(KafkaRelease.method(trigger.getClass(), "maybeTriggerWakeup", 0), trigger);
        } catch (WakeupException forgotten) {
            // This is how it forgets.
        }
    }

    private static Constructor<?> constructor(Class<?> type, int arguments) {
        Constructor<?> found = Arrays.stream(type.getDeclaredConstructors())
            .filter(constructor -> constructor.getParameterCount() == arguments)
            .findFirst().orElseThrow();
        found.setAccessible(true);
        return found;
    }
}
