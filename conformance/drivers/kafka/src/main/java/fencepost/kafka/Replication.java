package fencepost.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Method;
import java.nio.file.Path;

/** The way to the classes of the protocol {@code replication}, which are not compiled against every release. */
final class Replication {
    private static final Class<?> TRACE = KafkaRelease.find("fencepost.kafka.replication.ReplicationTrace");
    private static final Class<?> FUNCTION = KafkaRelease.find("fencepost.kafka.replication.ReplicationFunction");
    private static final Method DECIDE = FUNCTION == null ? null : KafkaRelease.method(FUNCTION, "decide", 3);

    private Replication() {
    }

    static boolean isThere() {
        return TRACE != null;
    }

    static Trace trace(JsonNode configure, Path logs) {
        require();
        return (Trace) KafkaRelease.make(TRACE.getConstructors()[0], configure, logs);
    }

    static Reply decide(JsonNode given, JsonNode call, Path logs) {
        require();
        return (Reply) KafkaRelease.call(DECIDE, null, given, call, logs);
    }

    private static void require() {
        if (!isThere()) {
            throw new Skipped("this driver has no replication on Kafka " + KafkaRelease.version());
        }
    }
}
