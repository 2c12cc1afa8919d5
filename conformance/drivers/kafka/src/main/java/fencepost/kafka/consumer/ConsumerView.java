package fencepost.kafka.consumer;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.KafkaRelease;
import fencepost.kafka.replication.BrokerNames;
import java.util.Optional;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.consumer.internals.SubscriptionState;

/** What a consumer remembers of its partition. */
final class ConsumerView {
    private ConsumerView() {
    }

    static ObjectNode of(SubscriptionState subscriptions, BrokerNames names) {
        ObjectNode view = JsonNodeFactory.instance.objectNode();
        if (!subscriptions.isAssigned(ReaderProcess.PARTITION)) {
            return view.put("fetch_state", "initializing");
        }
        SubscriptionState.FetchPosition position = subscriptions.position(ReaderProcess.PARTITION);
        view.put("fetch_state", state(subscriptions, position));
        if (position == null) {
            return view;
        }
        view.put("offset", position.offset);
        offsetEpoch(position).ifPresent(epoch -> view.put("offset_epoch", epoch));
        Metadata.LeaderAndEpoch leader = (Metadata.LeaderAndEpoch) KafkaRelease.peek(position, "currentLeader");
        leader.leader.ifPresent(node -> view.put("leader", names.name(node.id())));
        leader.epoch.ifPresent(epoch -> view.put("leader_epoch", epoch));
        return view;
    }

    @SuppressWarnings("unchecked")
    private static Optional<Integer> offsetEpoch(SubscriptionState.FetchPosition position) {
        return (Optional<Integer>) KafkaRelease.peek(position, "offsetEpoch");
    }

    private static String state(SubscriptionState subscriptions, SubscriptionState.FetchPosition position) {
        if (subscriptions.isOffsetResetNeeded(ReaderProcess.PARTITION)) {
            return "await_reset";
        }
        if (subscriptions.awaitingValidation(ReaderProcess.PARTITION)) {
            return "await_validation";
        }
        return position == null ? "initializing" : "fetching";
    }
}
