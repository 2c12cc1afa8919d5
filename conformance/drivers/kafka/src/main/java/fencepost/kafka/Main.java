package fencepost.kafka;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * The program: a line of JSON in on standard input, a line of JSON out on standard output, until {@code bye} or the end
 * of the input.
 *
 * <p>{@code --logs DIRECTORY} says where logs are kept while a trace needs them.
 *
 * <p>Whatever a library prints goes to standard error, so that standard output carries answers only.
 */
public final class Main {
    private Main() {
    }

    public static void main(String[] arguments) throws IOException {
        System.setOut(System.err);
        // A flush a line, on a buffer that holds a whole observed state: one write call an answer.
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        serve(requests, answers, new DriverProtocol(LogDirectory.create(logs(arguments))));
        answers.flush();
        // Kafka's metrics keep threads of their own alive.
        System.exit(0);
    }

    private static String logs(String[] arguments) {
        if (arguments.length == 0) {
            return null;
        }
        if (arguments.length == 2 && arguments[0].equals("--logs")) {
            return arguments[1];
        }
        throw new IllegalArgumentException("the only option is --logs DIRECTORY");
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
