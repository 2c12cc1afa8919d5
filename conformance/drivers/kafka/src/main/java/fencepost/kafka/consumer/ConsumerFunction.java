package fencepost.kafka.consumer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.KafkaRelease;
import fencepost.kafka.Reply;
import fencepost.kafka.Skipped;
import fencepost.kafka.replication.BrokerNames;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.consumer.LogTruncationException;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.consumer.internals.AutoOffsetResetStrategy;
import org.apache.kafka.clients.consumer.internals.SubscriptionState;
import org.apache.kafka.clients.consumer.internals.SubscriptionState.FetchPosition;
import org.apache.kafka.common.Node;

/**
 * A function trace of a consumer: one decision, made by Kafka's consumer.
 *
 * <p>What is given is put into its {@code SubscriptionState} as it is; then it hears, or is answered, what the call says, and what it
 * does is read from its state, from what it sends, and from whether it asks for metadata.
 */
public final class ConsumerFunction {
    private static final String ASKED_FOR = "the consumer did not ask";
    private static final int NO_EPOCH = -1;

    private final String groupProtocol;
    private final JsonNode given;
    private final JsonNode call;
    private final String name;
    private final BrokerNames names;
    private final ConsumerMessages messages;

    private ConsumerFunction(JsonNode given, Map.Entry<String, JsonNode> call, String groupProtocol) {
        this.groupProtocol = groupProtocol;
        this.given = given;
        this.name = call.getKey();
        this.call = call.getValue();
        TreeSet<String> named = new TreeSet<>(List.of("A", "B"));
        for (JsonNode where : List.of(given.path("position"), given.path("sent"), this.call)) {
            if (where.path("leader").isTextual()) {
                named.add(where.get("leader").asText());
            }
        }
        var written = JsonNodeFactory.instance.arrayNode();
        named.forEach(written::add);
        names = new BrokerNames(written);
        messages = new ConsumerMessages(names, new ReadRecords());
    }

    /**
     * Makes the decision.
     *
     * @return the outcome in place of an answer
     */
    public static Reply decide(JsonNode given, JsonNode call, String groupProtocol) {
        if (!call.isObject() || call.size() != 1) {
            throw new IllegalArgumentException("a call is a map of one entry");
        }
        return Reply.of(new ConsumerFunction(given, call.fields().next(), groupProtocol).decide());
    }

    private ObjectNode decide() {
        return switch (name) {
            case "transition" -> allowed(transition());
            case "accept_metadata" -> allowed(acceptMetadata());
            case "on_leader" -> reaction(onLeader());
            case "on_validation_reply" -> onValidationReply();
            case "on_fetch_reply" -> reaction(onFetchReply());
            default -> throw new Skipped("Kafka's consumer has no function `" + name + "`");
        };
    }

    @SuppressWarnings("unchecked")
    private boolean transition() {
        Class<?> states = KafkaRelease.find(SubscriptionState.class.getName() + "$FetchStates");
        Object from = constant(states, given.path("fetch_state").asText());
        Object to = constant(states, call.path("to").asText());
        return ((Collection<Object>) KafkaRelease.call(
            KafkaRelease.method(from.getClass(), "validTransitions", 0), from)).contains(to);
    }

    private static Object constant(Class<?> states, String name) {
        return KafkaRelease.peek(KafkaRelease.field(states, name.toUpperCase(Locale.ROOT)), (Object) null);
    }

    private boolean acceptMetadata() {
        try (ReaderProcess process = process()) {
            process.consumer().assign(List.of(ReaderProcess.PARTITION));
            int lastSeen = given.path("last_seen_epoch").asInt();
            if (lastSeen != NO_EPOCH) {
                process.hear(messages.metadata(
                    leader("A", lastSeen).put("topic_id", given.path("topic_id").asInt()), ConsumerTrace.METADATA_VERSION));
            }
            process.hear(messages.metadata(((ObjectNode) call.deepCopy()).put("leader", "B"), ConsumerTrace.METADATA_VERSION));
            return process.metadata().currentLeader(ReaderProcess.PARTITION).leader.filter(node -> node.id() == names.id("B")).isPresent();
        }
    }

    private String onLeader() {
        try (ReaderProcess process = process()) {
            SubscriptionState subscriptions = process.subscriptions();
            subscriptions.assignFromUser(Set.of(ReaderProcess.PARTITION));
            place(subscriptions, given.path("fetch_state").asText(), given.path("position"));
            ObjectNode before = view(process);
            ApiVersions versions = process.versions(!given.path("can_validate").asBoolean());
            subscriptions.maybeValidatePositionForCurrentLeader(versions, ReaderProcess.PARTITION, leaderAndEpoch(call));
            ObjectNode after = view(process);
            if (after.equals(before)) {
                return "ignores";
            }
            return after.get("fetch_state").asText().equals("await_validation") ? "validates" : "fetches";
        }
    }

    private ObjectNode onValidationReply() {
        try (ReaderProcess process = process()) {
            ScriptedClient.Sent question = ask(process, "await_validation");
            ObjectNode before = change(process, "await_validation");
            ObjectNode reply = JsonNodeFactory.instance.objectNode();
            reply.set("offset_for_leader_epoch_reply", call);
            ReaderProcess.Polled polled = answer(process, question, reply);
            ObjectNode after = view(process);
            if (polled.thrown() instanceof LogTruncationException truncation) {
                var divergent = truncation.divergentOffsets().get(ReaderProcess.PARTITION);
                ObjectNode thrown = JsonNodeFactory.instance.objectNode();
                if (divergent == null) {
                    thrown.putNull("throws_log_truncation");
                } else {
                    thrown.putObject("throws_log_truncation").put("epoch", divergent.leaderEpoch().orElse(NO_EPOCH))
                        .put("end_offset", divergent.offset());
                }
                return JsonNodeFactory.instance.objectNode().set("reaction", thrown);
            }
            if (becomes("await_reset", before, after)) {
                return reaction("resets");
            }
            if (becomes("fetching", before, after)) {
                if (after.get("offset").equals(before.get("offset"))) {
                    return reaction("fetches");
                }
                ObjectNode moved = JsonNodeFactory.instance.objectNode();
                ObjectNode to = moved.putObject("moves_to").put("offset", after.get("offset").asLong());
                if (after.has("offset_epoch")) {
                    to.set("epoch", after.get("offset_epoch"));
                }
                return JsonNodeFactory.instance.objectNode().set("reaction", moved);
            }
            return reaction(process.metadata().updateRequested() ? "retries" : "ignores");
        }
    }

    private String onFetchReply() {
        try (ReaderProcess process = process()) {
            ScriptedClient.Sent fetch = ask(process, "fetching");
            ObjectNode before = change(process, "fetching");
            ReaderProcess.Polled polled = answer(process, fetch, fetched());
            ObjectNode after = view(process);
            if (!polled.records().isEmpty()) {
                return "hands_out";
            }
            if (polled.thrown() instanceof OffsetOutOfRangeException) {
                return "throws_out_of_range";
            }
            if (becomes("await_reset", before, after)) {
                return "resets";
            }
            if (process.metadata().updateRequested()) {
                return "asks_for_metadata";
            }
            List<ScriptedClient.Sent> next = process.client().takeSent();
            boolean again = next.stream().anyMatch(sent -> written(sent).get("fetch") != null
                && written(sent).get("fetch").equals(written(fetch).get("fetch")));
            if (!again || !call.hasNonNull("error")) {
                return "ignores";
            }
            return next.get(0).request().destination().equals(fetch.request().destination()) ? "fetches_again" : "leaves_replica";
        }
    }

    private ObjectNode fetched() {
        ObjectNode content = JsonNodeFactory.instance.objectNode();
        ObjectNode reply = content.putObject("fetch_reply");
        if (call.hasNonNull("error")) {
            reply.set("error", call.get("error"));
        } else {
            long offset = given.path("sent").path("offset").asLong();
            reply.put("high_watermark", offset + 1).putArray("records").addArray()
                .add(offset).add(given.path("sent").path("leader_epoch").asInt()).add("r");
        }
        return content;
    }

    /** The consumer sends the request: it is in that state, at the position that it had then. */
    private ScriptedClient.Sent ask(ReaderProcess process, String state) {
        JsonNode sent = given.path("sent");
        process.consumer().assign(List.of(ReaderProcess.PARTITION));
        hear(process, sent);
        place(process.subscriptions(), state, sent);
        if (given.path("from_follower").asBoolean()) {
            process.subscriptions().updatePreferredReadReplica(ReaderProcess.PARTITION,
                names.id(sent.path("leader").asText().equals("A") ? "B" : "A"), () -> Long.MAX_VALUE);
        }
        process.poll();
        return process.client().takeSent().stream().findFirst().orElseThrow(() -> new IllegalStateException(ASKED_FOR));
    }

    /** What has become of the consumer since. */
    private ObjectNode change(ReaderProcess process, String asked) {
        String state = given.path("fetch_state").asText();
        if (!state.equals(asked) || !given.path("position").equals(given.path("sent"))) {
            JsonNode position = given.path("position");
            if (position.isMissingNode()) {
                // Only a new assignment makes a consumer forget its position.
                process.subscriptions().assignFromUser(Set.of());
                process.subscriptions().assignFromUser(Set.of(ReaderProcess.PARTITION));
            } else {
                hear(process, position);
            }
            place(process.subscriptions(), state, position);
        }
        return view(process);
    }

    private ReaderProcess.Polled answer(ReaderProcess process, ScriptedClient.Sent asked, JsonNode reply) {
        process.client().complete(asked.request().correlationId(), messages.response(asked.body(), reply));
        return process.poll();
    }

    private static boolean becomes(String state, ObjectNode before, ObjectNode after) {
        return after.get("fetch_state").asText().equals(state) && !before.get("fetch_state").asText().equals(state);
    }

    private ReaderProcess process() {
        List<Node> nodes = names.all().stream().map(this::node).toList();
        return new ReaderProcess(new ReaderProcess.Settings(groupProtocol, given.path("reset").asText("none"), false, false), 0, nodes,
            new Coordinator(nodes.get(0)));
    }

    private Node node(String broker) {
        return new Node(names.id(broker), "localhost", ConsumerTrace.FIRST_PORT + names.id(broker));
    }

    private ObjectNode view(ReaderProcess process) {
        return ConsumerView.of(process.subscriptions(), names);
    }

    private ObjectNode written(ScriptedClient.Sent sent) {
        return messages.request(sent.request().destination(), sent.body());
    }

    private void hear(ReaderProcess process, JsonNode position) {
        process.hear(messages.metadata(leader(position.path("leader").asText(null), position.path("leader_epoch").asInt(NO_EPOCH)),
            ConsumerTrace.METADATA_VERSION));
    }

    private static ObjectNode leader(String name, int epoch) {
        return JsonNodeFactory.instance.objectNode().put("leader", name).put("leader_epoch", epoch);
    }

    private void place(SubscriptionState subscriptions, String state, JsonNode position) {
        switch (state) {
            case "fetching" -> subscriptions.seekValidated(ReaderProcess.PARTITION, position(position));
            case "await_validation" -> subscriptions.seekUnvalidated(ReaderProcess.PARTITION, position(position));
            case "await_reset" -> subscriptions.requestOffsetReset(ReaderProcess.PARTITION, AutoOffsetResetStrategy.EARLIEST);
            default -> { }
        }
    }

    private FetchPosition position(JsonNode written) {
        Optional<Integer> epoch = written.hasNonNull("offset_epoch")
            ? Optional.of(written.get("offset_epoch").asInt()) : Optional.empty();
        return new FetchPosition(written.path("offset").asLong(), epoch, leaderAndEpoch(written));
    }

    private Metadata.LeaderAndEpoch leaderAndEpoch(JsonNode written) {
        Optional<Node> leader = written.hasNonNull("leader")
            ? Optional.of(node(written.get("leader").asText())) : Optional.empty();
        Optional<Integer> epoch = written.hasNonNull("leader_epoch")
            ? Optional.of(written.get("leader_epoch").asInt()) : Optional.empty();
        return new Metadata.LeaderAndEpoch(leader, epoch);
    }

    private static ObjectNode allowed(boolean allowed) {
        return JsonNodeFactory.instance.objectNode().put("allowed", allowed);
    }

    private static ObjectNode reaction(String reaction) {
        return JsonNodeFactory.instance.objectNode().put("reaction", reaction);
    }
}
