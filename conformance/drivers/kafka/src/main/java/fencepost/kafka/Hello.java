package fencepost.kafka;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;

/** What this driver says of itself: the release, what can be seen of it, and the first epoch, which is measured. */
final class Hello {
    static final String CLASSIC = "classic";
    private static final int PROTOCOL_VERSION = 0;

    private Hello() {
    }

    static ObjectNode say(String groupProtocol) {
        ObjectNode hello = JsonNodeFactory.instance.objectNode();
        hello.put("protocol_version", PROTOCOL_VERSION);
        hello.put("name", groupProtocol.equals(CLASSIC) ? "Apache Kafka" : "Apache Kafka, group.protocol " + groupProtocol);
        hello.put("version", KafkaRelease.version());
        hello.set("protocols", Answers.array(List.of("fencing", "compaction", "replication", "consumer")));
        hello.putArray("variants");
        hello.set("kinds", Answers.array(List.of("wire", "state", "function")));
        var features = hello.putArray("features");
        List.of("targets", "timers", "lagging_high_watermark", "static_members", "classic_members", "transactions",
            "leader_epochs", "bytes", "topics_change", "max_size", "rounds_in_steps", "restart", "crash_in_swap", "followers",
            "time_look_up", "segment_deletion", "producer_expiration", "cluster", "checkpoint_on_demand", "power_loss",
            "checkpoint_damage", "request_timeouts", "truncation_effects", "old_message_formats", "mixed_versions").forEach(features::add);
        if (KafkaRelease.hasAssignmentInterval()) {
            features.add("assignment_interval");
        }
        if (KafkaRelease.hasAssignmentEpochs()) {
            features.add("assignment_epochs");
        }
        hello.put("first_epoch", firstEpoch());
        return hello;
    }

    /** The epoch that the first member of a new group gets. */
    static int firstEpoch() {
        JsonNodeFactory json = JsonNodeFactory.instance;
        FencingTrace trace = new FencingTrace(json.objectNode().set("topics", json.objectNode().put("t", 1)));
        ObjectNode join = json.objectNode().put("member", "a").put("epoch", 0);
        join.putArray("owned");
        return trace.step(json.objectNode().set("heartbeat", join), null).answer().path("epoch").asInt();
    }
}
