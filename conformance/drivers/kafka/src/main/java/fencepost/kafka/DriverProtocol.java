package fencepost.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.compaction.CompactionFunction;
import fencepost.kafka.compaction.CompactionTrace;
import fencepost.kafka.consumer.ConsumerFunction;
import fencepost.kafka.consumer.ConsumerTrace;
import fencepost.kafka.replication.ReplicationFunction;
import fencepost.kafka.replication.ReplicationTrace;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Map;

/**
 * The envelope of the driver protocol: hello, reset, step, bye.
 *
 * <p>Each answer to reset and step echoes the trace (and the step) and is one of {@code ok}, {@code error},
 * {@code skipped} and {@code broken}. What an operation means is the matter of {@link FencingTrace}, {@link
 * CompactionTrace}, {@link ReplicationTrace} and {@link ConsumerTrace}; here nothing knows about groups, logs, brokers or
 * consumers. A trace's id begins with its protocol.
 */
final class DriverProtocol {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int STACK_FRAMES_IN_A_REPORT = 6;

    private static final String COMPACTION = "compaction/";
    private static final String REPLICATION = "replication/";
    private static final String CONSUMER = "consumer/";

    private final Path logs;
    private final String groupProtocol;
    private Trace trace;
    private String traceId;

    /** A driver that keeps its logs below a directory, and whose consumers are of this group protocol. */
    DriverProtocol(Path logs, String groupProtocol) {
        this.logs = logs;
        this.groupProtocol = groupProtocol;
    }

    /** The line to answer with; null after {@code bye}. */
    String answer(String line) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            JsonNode request = JSON.readTree(line);
            String command = request.path("cmd").asText();
            switch (command) {
                case "hello" -> answer.set("hello", Hello.say(groupProtocol));
                case "reset" -> reset(request, answer);
                case "step" -> step(request, answer);
                case "bye" -> {
                    return null;
                }
                default -> answer.put("broken", "unknown command `" + command + "`; there are hello, reset, step, bye");
            }
        } catch (JsonProcessingException problem) {
            answer.put("broken", "not a line of JSON: " + problem.getOriginalMessage());
        }
        return answer.toString();
    }

    private void reset(JsonNode request, ObjectNode answer) {
        traceId = request.path("trace").asText();
        answer.put("trace", traceId);
        try {
            if (trace != null) {
                trace.close();
            }
            trace = null;
            JsonNode configure = request.path("configure");
            trace = begin(configure);
            answer.putObject("ok");
        } catch (Skipped reason) {
            answer.put("skipped", reason.getMessage());
        } catch (RuntimeException problem) {
            answer.put("broken", describe(problem));
        }
    }

    private Trace begin(JsonNode configure) {
        if (traceId.startsWith(COMPACTION)) {
            return new CompactionTrace(configure, logs);
        }
        if (traceId.startsWith(CONSUMER)) {
            return new ConsumerTrace(configure, groupProtocol);
        }
        return traceId.startsWith(REPLICATION) ? new ReplicationTrace(configure, logs) : new FencingTrace(configure);
    }

    private void step(JsonNode request, ObjectNode answer) {
        answer.set("trace", request.path("trace"));
        answer.set("at", request.path("at"));
        if (request.has("call")) {
            call(request, answer);
            return;
        }
        if (trace == null || !request.path("trace").asText().equals(traceId)) {
            answer.put("broken", "a step of a trace that was not reset");
            return;
        }
        try {
            String broker = request.path("broker").asText(null);
            Outcome outcome =
                request.has("do") ? trace.step(request.get("do"), broker, request.get("message")) : Outcome.NOTHING;
            // Observed before anything is put into the answer, so that a failure leaves it either whole or broken.
            ObjectNode state = request.path("observe").asBoolean() ? trace.observe(broker) : null;
            ObjectNode body = outcome.error() == null ? answer.putObject("ok") : answer.put("error", outcome.error());
            if (outcome.answer() != null) {
                body.set("answer", outcome.answer());
            }
            putAll(body, "sends", outcome.sends());
            putAll(body, "completes", outcome.completes());
            if (state != null) {
                body.set("state", state);
            }
        } catch (Skipped reason) {
            answer.put("skipped", reason.getMessage());
        } catch (RuntimeException problem) {
            answer.put("broken", describe(problem));
        }
    }

    private static void putAll(ObjectNode body, String field, Map<String, ObjectNode> named) {
        if (!named.isEmpty()) {
            body.putObject(field).setAll(named);
        }
    }

    /** A function trace, which needs no reset. */
    private void call(JsonNode request, ObjectNode answer) {
        try {
            Reply reply = decide(request.path("trace").asText(), request.path("given"), request.get("call"));
            if (reply.error() == null) {
                answer.putObject("ok").set("outcome", reply.answer());
            } else {
                answer.put("error", reply.error());
            }
        } catch (Skipped reason) {
            answer.put("skipped", reason.getMessage());
        } catch (RuntimeException problem) {
            answer.put("broken", describe(problem));
        }
    }

    private Reply decide(String id, JsonNode given, JsonNode call) {
        if (id.startsWith(COMPACTION)) {
            return CompactionFunction.decide(given, call, logs);
        }
        if (id.startsWith(CONSUMER)) {
            return ConsumerFunction.decide(given, call, groupProtocol);
        }
        return id.startsWith(REPLICATION) ? ReplicationFunction.decide(given, call, logs) : FunctionCall.decide(given, call);
    }

    /** The problem with the few frames of its stack that tell Kafka's fault from the driver's. */
    private static String describe(RuntimeException problem) {
        StringWriter text = new StringWriter();
        problem.printStackTrace(new PrintWriter(text));
        return text.toString().lines().limit(STACK_FRAMES_IN_A_REPORT).map(String::strip).reduce((a, b) -> a + " | " + b)
            .orElse(problem.toString());
    }
}
