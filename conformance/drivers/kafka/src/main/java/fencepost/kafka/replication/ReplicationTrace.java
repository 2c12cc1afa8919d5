package fencepost.kafka.replication;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.Outcome;
import fencepost.kafka.Reply;
import fencepost.kafka.Skipped;
import fencepost.kafka.Trace;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * One trace of the protocol {@code replication} on Kafka's brokers: what each operation does.
 *
 * <p>The operations are those of fencepost's vocabulary, in its JSON form; docs/replication.md says what each is.
 */
public final class ReplicationTrace implements Trace {
    private static final int A_CLIENT = -1;
    private static final String CONTROLLER = "controller";

    private final BrokerNames names;
    private final Map<String, Place> places = new LinkedHashMap<>();
    private final Mailbox mailbox = new Mailbox();

    /** A broker, and the requests that it has to answer. */
    private record Place(String name, Broker broker, ServedRequests served) {
    }

    /** A trace whose brokers' directories lie below a directory. */
    public ReplicationTrace(JsonNode configure, Path logs) {
        if (configure.has("rules") || configure.has("old_message_format")) {
            throw new Skipped("brokers of another release, or formats before 0.11");
        }
        names = new BrokerNames(configure.path("brokers"));
        int minIsr = configure.path("min_isr").asInt();
        for (String name : names.all()) {
            Broker broker = new Broker(names.id(name), logs.resolve("broker-" + name), names, minIsr);
            places.put(name, new Place(name, broker, new ServedRequests(broker)));
        }
    }

    @Override
    public ObjectNode observe(String any) {
        ObjectNode state = JsonNodeFactory.instance.objectNode();
        places.forEach((name, place) ->
            state.set(name, place.broker().isUp() ? ReplicaView.of(place.broker(), names) : null));
        return state;
    }

    @Override
    public void close() {
        places.values().forEach(place -> place.broker().close());
    }

    @Override
    public Outcome step(JsonNode operation, String broker) {
        return step(operation, broker, null);
    }

    @Override
    public Outcome step(JsonNode operation, String broker, JsonNode message) {
        if (operation.has("replicate")) {
            replicate(operation.get("replicate"));
            return Outcome.NOTHING;
        }
        if (operation.has("at")) {
            return setUp(operation);
        }
        Place place = place(broker);
        Reply reply = operate(place, operation, message);
        return outcome(place, reply);
    }

    /** An input to each of the places; what is sent is lost. */
    private Outcome setUp(JsonNode setup) {
        JsonNode at = setup.get("at");
        Iterable<JsonNode> where = at.isArray() ? at : List.of(at);
        for (JsonNode name : where) {
            if (name.asText().equals(CONTROLLER)) {
                // It is not driven; what it sent comes as messages and records.
                continue;
            }
            Place place = place(name.asText());
            Reply reply = operate(place, setup.get("do"), null);
            if (reply != null && reply.error() != null) {
                return Outcome.answered(reply);
            }
            outcome(place, reply);
            place.broker().links().stream().filter(link -> link.outstanding() != null).forEach(FetcherLink::fail);
        }
        return Outcome.NOTHING;
    }

    /** What came of a step: the broker does what it has to do, and what it sent or answered is gathered. */
    private Outcome outcome(Place place, Reply reply) {
        Broker broker = place.broker();
        if (!broker.isUp()) {
            place.served().forget();
            return Outcome.answered(reply);
        }
        broker.settle();
        Map<String, ObjectNode> sends = new LinkedHashMap<>();
        for (FetcherLink link : broker.links()) {
            while (link.isReady()) {
                link.run();
            }
            if (link.outstanding() != null && link.label() == null) {
                ObjectNode content = Messages.request(names.name(link.leaderId()), link.outstanding());
                link.setLabel(mailbox.send(content, null));
                sends.put(link.label(), content);
            }
        }
        ControllerChannel controller = broker.controller();
        if (controller.outstanding() != null && controller.label() == null) {
            ObjectNode content = Messages.proposal(controller.outstanding(), names);
            controller.setLabel(mailbox.send(content, null));
            sends.put(controller.label(), content);
        }
        sends.putAll(mailbox.takeReplies());
        Map<String, ObjectNode> completes = new LinkedHashMap<>();
        place.served().takeProduced().forEach((name, produced) -> completes.put(name,
            produced.error() == null ? produced.answer() : error(produced.error())));
        place.served().takeFetched().forEach((name, fetched) -> completes.put(name, mailbox.complete(name, fetched)));
        return new Outcome(reply != null ? reply : truncations(broker), completes, sends);
    }

    /** A step of a follower answers nothing but what it has cut below the high watermark; null where it has not. */
    private static Reply truncations(Broker broker) {
        List<ReplicaFetchers.Truncation> cuts = broker.takeTruncationsBelow();
        if (cuts.isEmpty()) {
            return null;
        }
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        ArrayNode written = answer.putArray("truncated_below_high_watermark");
        cuts.forEach(cut -> written.addObject().put("to", cut.to()).put("high_watermark", cut.highWatermark()));
        return Reply.of(answer);
    }

    private Reply operate(Place place, JsonNode operation, JsonNode message) {
        if (operation.size() != 1 || !operation.isObject()) {
            throw new IllegalArgumentException("an operation is a map of one entry");
        }
        Map.Entry<String, JsonNode> only = operation.fields().next();
        Broker broker = place.broker();
        JsonNode body = only.getValue();
        switch (only.getKey()) {
            case "metadata" -> broker.metadata(body);
            case "produce" -> {
                return place.served().produce(body);
            }
            case "consume" -> {
                return place.served().consume(body);
            }
            case "list_offsets" -> {
                return place.served().listOffsets(body, body.has("replica") ? names.id(body.get("replica").asText()) : A_CLIENT);
            }
            case "offset_for_leader_epoch" -> {
                return place.served().offsetForLeaderEpoch(body);
            }
            case "delete_records" -> {
                return place.served().deleteRecords(body.asLong());
            }
            case "poll" -> broker.links().stream().filter(FetcherLink::isDelayed).forEach(link -> link.setDelay(null));
            case "deliver" -> deliver(place, body.asText(), message);
            case "fail" -> fail(place, message);
            case "expire" -> place.served().expire(body.asText());
            case "shrink_isr" -> broker.shrinkIsr();
            case "checkpoint" -> broker.checkpoint();
            case "stop" -> broker.stop();
            case "crash" -> broker.crash();
            case "start" -> broker.start(body);
            default -> throw new Skipped("this driver has no operation `" + only.getKey() + "`");
        }
        return null;
    }

    private void deliver(Place place, String name, JsonNode message) {
        JsonNode content = message.get("content");
        String from = message.path("from").asText();
        String label = message.path("label").asText(null);
        if (content.has("fetch")) {
            ServedRequests.Fetched fetched = place.served().fetch(names.id(from), content.get("fetch"), name);
            if (fetched == null) {
                mailbox.park(name, from, label);
            } else {
                mailbox.reply(from, "fetch_reply", fetched.reply(), fetched.records());
            }
        } else if (content.has("list_offsets")) {
            Reply reply = place.served().listOffsets(content.get("list_offsets"), names.id(from));
            ObjectNode answer = reply.error() != null ? error(reply.error()) : reply.answer();
            answer.remove("epoch");
            mailbox.reply(from, "list_offsets_reply", answer, null);
        } else if (content.has("offset_for_leader_epoch")) {
            Reply reply = place.served().offsetForLeaderEpoch(content.get("offset_for_leader_epoch"));
            mailbox.reply(from, "offset_for_leader_epoch_reply",
                reply.error() != null ? error(reply.error()) : reply.answer(), null);
        } else {
            answer(place, message);
        }
    }

    /** The answer to a request of this broker arrives; if it was given up, or is of an earlier process, nothing happens. */
    private void answer(Place place, JsonNode message) {
        JsonNode content = message.get("content");
        String request = message.path("reply_to").asText(null);
        if (content.has("alter_partition_reply")) {
            ControllerChannel controller = place.broker().controller();
            if (controller.label() != null && Objects.equals(controller.label(), request)) {
                controller.answer(Messages.controllerResponse(content.get("alter_partition_reply"), names));
            }
            return;
        }
        for (FetcherLink link : place.broker().links()) {
            if (link.label() != null && Objects.equals(link.label(), request)) {
                link.answer(Messages.response(
                    link.outstanding(), content, mailbox.records(message.path("label").asText(null), request)));
                return;
            }
        }
    }

    private void fail(Place place, JsonNode message) {
        String label = message.path("label").asText(null);
        if (label == null) {
            throw new IllegalArgumentException("the request was not sent by this broker");
        }
        if (label.equals(place.broker().controller().label())) {
            place.broker().controller().resend();
        }
        place.broker().links().stream().filter(link -> label.equals(link.label())).forEach(FetcherLink::fail);
    }

    /** Followers fetch until nothing changes any more; then all of them wait for a {@code poll}. */
    private void replicate(JsonNode who) {
        Place leader = place(who.path("from").asText());
        String before;
        do {
            before = observe(null).toString();
            for (JsonNode name : who.path("to")) {
                fetchOnce(place(name.asText()), leader);
            }
        } while (!observe(null).toString().equals(before));
        leader.served().forget();
        places.values().forEach(place -> place.broker().takeTruncationsBelow());
    }

    private void fetchOnce(Place follower, Place leader) {
        for (FetcherLink link : follower.broker().links()) {
            if (link.leaderId() != leader.broker().id() || !(link.isReady() || link.isDelayed())) {
                continue;
            }
            link.setDelay(null);
            link.run();
            if (link.outstanding() == null) {
                continue;
            }
            JsonNode request = Messages.request(leader.name(), link.outstanding());
            if (!request.has("fetch")) {
                throw new Skipped("followers that ask for more than records in the setup");
            }
            var fetched = leader.served().fetch(follower.broker().id(), request.get("fetch"), null);
            ObjectNode reply = JsonNodeFactory.instance.objectNode().set("fetch_reply", fetched.reply());
            link.answer(Messages.response(link.outstanding(), reply, fetched.records()));
            link.setDelay(0L);
        }
    }

    private Place place(String name) {
        Place place = places.get(name);
        if (place == null) {
            throw new IllegalArgumentException("there is no broker " + name);
        }
        return place;
    }

    private static ObjectNode error(String error) {
        return JsonNodeFactory.instance.objectNode().put("error", error);
    }
}
