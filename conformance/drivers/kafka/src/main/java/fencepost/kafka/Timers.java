package fencepost.kafka;

import java.lang.reflect.Method;
import java.util.Map;
import org.apache.kafka.coordinator.group.GroupMetadataManager;

/** The keys under which the coordinator arms its timers, by the trace's names for them; Kafka's own functions make them. */
final class Timers {
    private static final Map<String, String> FUNCTIONS = Map.of(
        "session", "groupSessionTimeoutKey",
        "rebalance", "groupRebalanceTimeoutKey",
        "join", "consumerGroupJoinKey",
        "sync", "consumerGroupSyncKey");

    private Timers() {
    }

    static String key(String timer, String memberId) {
        Method function = KafkaRelease.method(GroupMetadataManager.class, FUNCTIONS.getOrDefault(timer, timer), 2);
        if (function == null) {
            throw new Skipped("this driver has no timer `" + timer + "`");
        }
        return (String) KafkaRelease.call(function, null, Requests.GROUP, memberId);
    }
}
