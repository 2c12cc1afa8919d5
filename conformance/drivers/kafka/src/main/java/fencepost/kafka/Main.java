package fencepost.kafka;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * The program: a line of JSON in on standard input, a line of JSON out on standard output, until {@code bye} or the end
 * of the input.
 *
 * <p>{@code --logs DIRECTORY} says where logs are kept while a trace needs them, {@code --group-protocol} which of Kafka's two
 * consumers is driven in traces of consumers ({@code classic}, or {@code consumer}).
 *
 * <p>Whatever a library prints goes to standard error, so that standard output carries answers only.
 */
public final class Main {
    private static final String LOGS = "--logs";
    private static final String GROUP_PROTOCOL = "--group-protocol";
    private static final Set<String> OPTIONS = Set.of(LOGS, GROUP_PROTOCOL);

    private Main() {
    }

    public static void main(String[] arguments) throws IOException {
        System.setOut(System.err);
        // A flush a line, on a buffer that holds a whole observed state: one write call an answer.
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Map<String, String> options = options(arguments);
        serve(requests, answers, new DriverProtocol(
            LogDirectory.create(options.get(LOGS)), options.getOrDefault(GROUP_PROTOCOL, Hello.CLASSIC)));
        answers.flush();
        // Kafka's metrics keep threads of their own alive.
        System.exit(0);
    }

    /** The values of the options that are given, by name. */
    private static Map<String, String> options(String[] arguments) {
        Map<String, String> options = new HashMap<>();
        for (int at = 0; at < arguments.length; at += 2) {
            if (!OPTIONS.contains(arguments[at]) || at + 1 == arguments.length) {
                throw new IllegalArgumentException("the options are --logs DIRECTORY and --group-protocol classic|consumer");
            }
            options.put(arguments[at], arguments[at + 1]);
        }
        return options;
    }

    private static void serve(BufferedReader requests, PrintStream answers, DriverProtocol protocol) throws IOException {
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            if (line.isBlank()) {
                continue;
            }
            String answer = protocol.answer(line);
            if (answer == null) {
                return;
            }
            answers.write((answer + "\n").getBytes(StandardCharsets.UTF_8));
            answers.flush();
        }
    }
}
