package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/**
 * The driver: answers hello, reset, step and bye, a JSON object a line on standard input and output, from a real broker in
 * this process. Nothing else is written to standard output.
 *
 * <p>Hello is answered once the broker is up, so that no step has to wait for it. The broker is gone, with its directory, when the
 * driver has ended: after bye, at the end of standard input (the replayer is gone), and on SIGTERM or SIGINT.
 */
public final class BrokerDriver {
    private static final int PROTOCOL_VERSION = 0;
    /** A step that hangs must not keep the process alive when nobody listens any more. */
    private static final long GRACE_MS = 15_000;
    private static final String END = "";

    private final ObjectMapper json = new ObjectMapper();
    private final Target target;
    private final PrintStream answers;

    BrokerDriver(Target target, PrintStream answers) {
        this.target = target;
        this.answers = answers;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        try (WireTarget target = new WireTarget()) {
            BrokerDriver driver = new BrokerDriver(target, answers);
            startReading(lines);
            String line = lines.take();
            while (!line.equals(END) && driver.handle(line)) {
                line = lines.take();
            }
        }
        System.exit(0);
    }

    /** Reads ahead, so that the end of standard input is noticed even while a step hangs. */
    private static void startReading(BlockingQueue<String> lines) {
        Thread reader = new Thread(() -> {
            try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                for (String line = input.readLine(); line != null; line = input.readLine()) {
                    if (!line.isBlank()) {
                        lines.add(line);
                    }
                }
            } catch (IOException gone) {
                // The same as the end of the input.
            }
            lines.add(END);
            try {
                Thread.sleep(GRACE_MS);
            } catch (InterruptedException hurried) {
                Thread.currentThread().interrupt();
            }
            System.exit(1);
        }, "standard-input");
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Answers one line.
     *
     * @return whether there is more to come
     */
    boolean handle(String line) throws IOException {
        JsonNode command;
        try {
            command = json.readTree(line);
        } catch (IOException garbage) {
            write(object().put("broken", "this line is not JSON: " + garbage.getMessage()));
            return true;
        }
        switch (command.path("cmd").asText()) {
            case "hello" -> {
                try {
                    target.start();
                    write(hello());
                } catch (Exception failure) {
                    write(object().put("broken", describe(failure)));
                }
            }
            case "reset" -> write(reset(command));
            case "step" -> write(step(command));
            case "bye" -> {
                return false;
            }
            default -> write(echo(command).put("broken", "there is no command `" + command.path("cmd").asText() + "`"));
        }
        return true;
    }

    private ObjectNode hello() {
        ObjectNode answer = object();
        ObjectNode hello = answer.putObject("hello")
                .put("protocol_version", PROTOCOL_VERSION)
                .put("name", "Apache Kafka broker")
                .put("version", AppInfoParser.getVersion());
        hello.putArray("protocols").add("fencing");
        hello.putArray("variants");
        hello.putArray("kinds").add("wire");
        WireTarget.FEATURES.forEach(hello.putArray("features")::add);
        hello.put("first_epoch", WireTarget.FIRST_EPOCH);
        return answer;
    }

    private ObjectNode reset(JsonNode command) {
        ObjectNode answer = echo(command);
        try {
            Optional<String> reason = target.reset(command.path("configure"));
            if (reason.isPresent()) {
                answer.put("skipped", reason.get());
            } else {
                answer.putObject("ok");
            }
        } catch (Exception failure) {
            answer.put("broken", describe(failure));
        }
        return answer;
    }

    private ObjectNode step(JsonNode command) {
        ObjectNode answer = echo(command);
        try {
            Outcome outcome = command.has("do") ? target.step(command.get("do")) : new Outcome.Done(null);
            if (outcome instanceof Outcome.Done done) {
                ObjectNode ok = answer.putObject("ok");
                if (done.answer() != null) {
                    ok.set("answer", done.answer());
                }
            } else if (outcome instanceof Outcome.Refused refused) {
                answer.put("error", refused.error().name());
            } else if (outcome instanceof Outcome.Skipped skipped) {
                answer.put("skipped", skipped.reason());
            }
        } catch (Exception failure) {
            answer.put("broken", describe(failure));
        }
        return answer;
    }

    private static ObjectNode echo(JsonNode command) {
        ObjectNode answer = object();
        for (String key : new String[] {"trace", "at"}) {
            if (command.has(key)) {
                answer.set(key, command.get(key));
            }
        }
        return answer;
    }

    private static String describe(Exception failure) {
        StringBuilder said = new StringBuilder();
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            said.append(said.isEmpty() ? "" : ": ").append(cause);
        }
        return said.toString();
    }

    private static ObjectNode object() {
        return JsonNodeFactory.instance.objectNode();
    }

    private void write(ObjectNode answer) throws IOException {
        answers.write((json.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
        answers.flush();
    }
}
