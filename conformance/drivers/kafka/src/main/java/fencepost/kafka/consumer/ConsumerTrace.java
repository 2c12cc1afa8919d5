package fencepost.kafka.consumer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.Outcome;
import fencepost.kafka.Reply;
import fencepost.kafka.Skipped;
import fencepost.kafka.Trace;
import fencepost.kafka.replication.BrokerNames;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.LogTruncationException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.Node;

/**
 * One trace of the protocol {@code consumer} on Kafka's own consumer: what each operation does.
 *
 * <p>The consumer is driven alone. What brokers answer is taken from the trace, but for the setup's reads.
 */
public final class ConsumerTrace implements Trace {
    private static final String CONSUMER = "consumer";
    static final short METADATA_VERSION = 13;
    /** The last in which leader epochs are not reliable. */
    private static final short OLD_METADATA_VERSION = 8;
    static final int FIRST_PORT = 9100;
    private static final int COORDINATOR = 1000;
    private static final int MOST_READS = 1000;

    private final BrokerNames names;
    private final ReaderProcess.Settings settings;
    private final List<Node> nodes = new ArrayList<>();
    private final Map<String, ScriptedBroker> brokers = new HashMap<>();
    private final ConsumerMessages messages;
    private final Coordinator coordinator = new Coordinator(new Node(COORDINATOR, "localhost", FIRST_PORT));
    /** The correlation ids of what this process has under way, by the names that they have in answers. */
    private final Map<String, Integer> labels = new HashMap<>();
    private ReaderProcess process;
    private int processes;
    private boolean isAssigned;
    /** Whether this process has heard of the topic. */
    private boolean hasHeard;
    /** What was heard before there was an assignment; a client asks again when there is one. */
    private JsonNode heardBefore;

    /** A trace on a consumer of this group protocol. */
    public ConsumerTrace(JsonNode configure, String groupProtocol) {
        names = new BrokerNames(configure.path("brokers"));
        boolean hasEpochs = !configure.path("old_message_format").asBoolean();
        for (String name : names.all()) {
            nodes.add(new Node(names.id(name), "localhost", FIRST_PORT + names.id(name)));
            brokers.put(name, new ScriptedBroker(hasEpochs));
        }
        settings = new ReaderProcess.Settings(groupProtocol, configure.path("reset").asText(),
            configure.path("read_committed").asBoolean(), configure.path("old_brokers").asBoolean());
        messages = new ConsumerMessages(names, new ReadRecords());
        start();
    }

    private void start() {
        processes++;
        process = new ReaderProcess(settings, processes, nodes, coordinator);
        labels.clear();
        isAssigned = false;
        hasHeard = false;
        heardBefore = null;
    }

    @Override
    public ObjectNode observe(String any) {
        return JsonNodeFactory.instance.objectNode().set(CONSUMER, ConsumerView.of(process.subscriptions(), names));
    }

    @Override
    public void close() {
        process.close();
    }

    @Override
    public Outcome step(JsonNode operation, String place) {
        return step(operation, place, null);
    }

    @Override
    public Outcome step(JsonNode operation, String place, JsonNode message) {
        if (operation.has("read")) {
            read(operation.get("read"));
            return Outcome.NOTHING;
        }
        if (operation.has("at")) {
            setUp(operation);
            return Outcome.NOTHING;
        }
        Map.Entry<String, JsonNode> only = only(operation);
        Reply reply = operate(only.getKey(), only.getValue(), message);
        process.settle();
        Map<String, ObjectNode> sends = new LinkedHashMap<>();
        for (ScriptedClient.Sent sent : process.client().takeSent()) {
            String label = "process-" + processes + "-" + sent.request().correlationId();
            labels.put(label, sent.request().correlationId());
            sends.put(label, messages.request(sent.request().destination(), sent.body()));
        }
        return new Outcome(reply, Map.of(), sends);
    }

    private static Map.Entry<String, JsonNode> only(JsonNode operation) {
        if (operation.size() != 1 || !operation.isObject()) {
            throw new IllegalArgumentException("an operation is a map of one entry");
        }
        return operation.fields().next();
    }

    /** An input to each of the places; what is sent fails. */
    private void setUp(JsonNode setup) {
        JsonNode at = setup.get("at");
        Iterable<JsonNode> where = at.isArray() ? at : List.of(at);
        Map.Entry<String, JsonNode> only = only(setup.get("do"));
        for (JsonNode place : where) {
            if (place.asText().equals(CONSUMER)) {
                operate(only.getKey(), only.getValue(), null);
                process.settle();
                process.client().failAll();
            } else {
                broker(place.asText()).operate(only.getKey(), only.getValue());
            }
        }
    }

    /** The consumer hears who leads, and reads up to an offset. */
    private void read(JsonNode how) {
        String leader = how.path("from").asText();
        long upTo = how.path("up_to").asLong();
        ScriptedBroker broker = broker(leader);
        ReaderProcess.Polled polled = hear(JsonNodeFactory.instance.objectNode().put("leader", leader)
            .put("leader_epoch", broker.leaderEpoch()).put("topic_id", broker.topicId()));
        for (int reads = 0; position().orElse(-1L) < upTo || polled.thrown() != null; reads++) {
            if (polled.thrown() != null || reads == MOST_READS) {
                throw new Skipped("the consumer does not come to " + upTo + " in the setup: " + polled.thrown());
            }
            for (ScriptedClient.Sent sent : process.client().takeSent()) {
                JsonNode request = messages.request(sent.request().destination(), sent.body());
                process.client().complete(sent.request().correlationId(),
                    messages.response(sent.body(), broker.answer(request, upTo)));
            }
            polled = process.poll();
        }
        process.settle();
        process.client().failAll();
    }

    private Reply operate(String name, JsonNode body, JsonNode message) {
        switch (name) {
            case "assign" -> {
                assign(body);
                return null;
            }
            case "seek" -> {
                seek(body);
                return null;
            }
            case "seek_to" -> {
                if (body.asText().equals("beginning")) {
                    process.consumer().seekToBeginning(List.of(ReaderProcess.PARTITION));
                } else {
                    process.consumer().seekToEnd(List.of(ReaderProcess.PARTITION));
                }
                return null;
            }
            case "commit" -> {
                return commit();
            }
            case "position" -> {
                return position().map(offset -> Reply.of(JsonNodeFactory.instance.objectNode().put("position", offset)))
                    .orElse(null);
            }
            case "restart" -> {
                process.close();
                start();
                return null;
            }
            case "metadata" -> {
                return polled(hear(body));
            }
            case "deliver" -> {
                deliver(message);
                return polled(process.poll());
            }
            case "fail" -> {
                Integer request = labels.get(message.path("label").asText());
                if (request != null) {
                    process.client().complete(request, null);
                }
                return polled(process.poll());
            }
            case "elapse" -> {
                process.elapse();
                return polled(process.poll());
            }
            case "poll" -> {
                return polled(process.poll());
            }
            default -> throw new Skipped("Kafka's consumer has no operation `" + name + "`");
        }
    }

    private void assign(JsonNode body) {
        JsonNode offset = body.path("committed");
        coordinator.setCommitted(offset.isMissingNode() ? Optional.empty()
            : Optional.of(new Coordinator.Committed(offset.path("offset").asLong(), epoch(offset))));
        process.consumer().assign(List.of(ReaderProcess.PARTITION));
        isAssigned = true;
        if (heardBefore != null) {
            hasHeard = true;
            process.hear(messages.metadata(heardBefore, metadataVersion()));
        }
    }

    private void seek(JsonNode body) {
        long offset = body.path("offset").asLong();
        Optional<Integer> epoch = epoch(body);
        if (epoch.isPresent()) {
            process.consumer().seek(ReaderProcess.PARTITION, new OffsetAndMetadata(offset, epoch, ""));
        } else {
            process.consumer().seek(ReaderProcess.PARTITION, offset);
        }
    }

    private Reply commit() {
        coordinator.setCommitted(Optional.empty());
        process.consumer().commitSync();
        return coordinator.committed().map(committed -> {
            ObjectNode written = JsonNodeFactory.instance.objectNode().put("offset", committed.offset());
            committed.epoch().ifPresent(epoch -> written.put("epoch", epoch));
            ObjectNode answer = JsonNodeFactory.instance.objectNode();
            answer.set("committed", written);
            return Reply.of(answer);
        }).orElse(null);
    }

    /** Where the application stands, asked only if the consumer knows it without asking anybody. */
    private Optional<Long> position() {
        return process.subscriptions().isAssigned(ReaderProcess.PARTITION)
            && process.subscriptions().hasValidPosition(ReaderProcess.PARTITION)
            ? Optional.of(process.consumer().position(ReaderProcess.PARTITION)) : Optional.empty();
    }

    private ReaderProcess.Polled hear(JsonNode body) {
        if (!isAssigned) {
            heardBefore = body;
            return ReaderProcess.Polled.NOTHING;
        }
        // What is committed came with the assignment; Kafka asks for it when it is polled, which sends nothing else as long as
        // no leader is known.
        ReaderProcess.Polled before = hasHeard ? ReaderProcess.Polled.NOTHING : process.poll();
        hasHeard = true;
        process.hear(messages.metadata(body, metadataVersion()));
        return before.thrown() == null ? process.poll() : before;
    }

    private short metadataVersion() {
        return settings.oldBrokers() ? OLD_METADATA_VERSION : METADATA_VERSION;
    }

    /** An answer arrives; if its request was given up, or is of an earlier process, nothing happens. */
    private void deliver(JsonNode message) {
        Integer request = labels.get(message.path("reply_to").asText());
        if (request != null) {
            process.client().underWay(request).ifPresent(sent ->
                process.client().complete(request, messages.response(sent.body(), message.get("content"))));
        }
    }

    private static Reply polled(ReaderProcess.Polled polled) {
        if (polled.thrown() == null) {
            return polled.records().isEmpty() ? null : Reply.of(JsonNodeFactory.instance.objectNode()
                .<ObjectNode>set("records", ReadRecords.written(polled.records())));
        }
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        ObjectNode exception = answer.putObject("exception");
        if (polled.thrown() instanceof LogTruncationException truncation) {
            ObjectNode told = exception.putObject("log_truncation")
                .put("offset", truncation.offsetOutOfRangePartitions().get(ReaderProcess.PARTITION));
            OffsetAndMetadata divergent = truncation.divergentOffsets().get(ReaderProcess.PARTITION);
            if (divergent != null) {
                told.putObject("divergent").put("epoch", divergent.leaderEpoch().orElse(-1)).put("end_offset", divergent.offset());
            }
        } else if (polled.thrown() instanceof OffsetOutOfRangeException outOfRange) {
            exception.putObject("offset_out_of_range")
                .put("offset", outOfRange.offsetOutOfRangePartitions().get(ReaderProcess.PARTITION));
        } else {
            exception.putObject("no_offset");
        }
        return Reply.of(answer);
    }

    private ScriptedBroker broker(String name) {
        names.id(name);
        return brokers.get(name);
    }

    private static Optional<Integer> epoch(JsonNode position) {
        return position.hasNonNull("epoch") ? Optional.of(position.get("epoch").asInt()) : Optional.empty();
    }
}
