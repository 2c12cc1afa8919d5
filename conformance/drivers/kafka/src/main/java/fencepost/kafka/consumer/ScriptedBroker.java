package fencepost.kafka.consumer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A broker's log as the setup of a trace writes it, for the setup's reads. In the steps of a trace brokers say what the trace says. */
final class ScriptedBroker {
    private static final int UNDEFINED = -1;

    private final boolean hasEpochs;
    private final List<JsonNode> log = new ArrayList<>();
    private List<int[]> epochs = new ArrayList<>();
    private int leaderEpoch = UNDEFINED;
    private boolean isAlone;
    private long highWatermark;
    private int topicId = 1;

    ScriptedBroker(boolean hasEpochs) {
        this.hasEpochs = hasEpochs;
    }

    int leaderEpoch() {
        return leaderEpoch;
    }

    int topicId() {
        return topicId;
    }

    /** An operation of the setup. */
    void operate(String name, JsonNode body) {
        switch (name) {
            case "lead" -> {
                leaderEpoch = body.path("leader_epoch").asInt();
                isAlone = body.path("alone").asBoolean();
                if (hasEpochs) {
                    epochs.add(new int[] {leaderEpoch, log.size()});
                }
            }
            case "follow" -> follow(body);
            case "append" -> body.path("records").forEach(id -> append(id.asText(), body.path("producer").asText(null)));
            case "end_transaction" ->
                append(body.path("commit").asBoolean() ? "commit" : "abort", body.path("producer").asText());
            case "high_watermark" -> highWatermark = body.asLong();
            case "recreate" -> {
                log.clear();
                epochs.clear();
                leaderEpoch = UNDEFINED;
                isAlone = false;
                highWatermark = 0;
                topicId = body.path("topic_id").asInt();
            }
            default -> throw new IllegalArgumentException("a broker has no operation `" + name + "`");
        }
        if (isAlone) {
            highWatermark = log.size();
        }
    }

    private void follow(JsonNode body) {
        leaderEpoch = body.path("leader_epoch").asInt();
        isAlone = false;
        log.subList((int) Math.min(log.size(), body.path("truncate_to").asLong()), log.size()).clear();
        body.path("records").forEach(log::add);
        epochs = new ArrayList<>();
        body.path("epochs").forEach(epoch -> epochs.add(new int[] {epoch.get(0).asInt(), epoch.get(1).asInt()}));
        highWatermark = body.path("high_watermark").asLong();
    }

    private void append(String id, String producer) {
        ArrayNode record = JsonNodeFactory.instance.arrayNode()
            .add(log.size()).add(hasEpochs ? leaderEpoch : UNDEFINED).add(id);
        if (producer != null) {
            record.add(producer);
        }
        log.add(record);
    }

    /** The answer to a request, as a trace would write it, with no record from an offset on. */
    ObjectNode answer(JsonNode request, long below) {
        ObjectNode answer = JsonNodeFactory.instance.objectNode().put("to", "consumer");
        if (request.has("fetch")) {
            ObjectNode reply = answer.putObject("fetch_reply").put("high_watermark", highWatermark);
            ArrayNode records = reply.putArray("records");
            for (long at = request.get("fetch").path("offset").asLong(); at < Math.min(highWatermark, below); at++) {
                records.add(log.get((int) at));
            }
            reply.set("aborted", aborted());
        } else if (request.has("offset_for_leader_epoch")) {
            int asked = request.get("offset_for_leader_epoch").path("epoch").asInt();
            ObjectNode reply = answer.putObject("offset_for_leader_epoch_reply").put("epoch", UNDEFINED).put("end_offset", UNDEFINED);
            for (int entry = 0; entry < epochs.size() && epochs.get(entry)[0] <= asked; entry++) {
                reply.put("epoch", epochs.get(entry)[0])
                    .put("end_offset", entry + 1 < epochs.size() ? epochs.get(entry + 1)[1] : log.size());
            }
        } else {
            boolean fromStart = request.path("list_offsets").path("timestamp").asText().equals("earliest");
            answer.putObject("list_offsets_reply").put("offset", fromStart ? 0 : highWatermark).put("epoch", UNDEFINED);
        }
        return answer;
    }

    /** The aborted transactions: each producer, with the offset at which it began. */
    private ArrayNode aborted() {
        ArrayNode aborted = JsonNodeFactory.instance.arrayNode();
        Map<String, Long> open = new HashMap<>();
        for (JsonNode record : log) {
            String producer = record.path(3).asText(null);
            if (ReadRecords.isMarker(record)) {
                Long first = open.remove(producer);
                if (record.get(2).asText().equals("abort") && first != null) {
                    aborted.addArray().add(producer).add(first);
                }
            } else if (producer != null) {
                open.putIfAbsent(producer, record.get(0).asLong());
            }
        }
        return aborted;
    }
}
