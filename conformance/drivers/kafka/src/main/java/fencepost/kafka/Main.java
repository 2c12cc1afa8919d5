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
        serve(requests, answers);
        answers.flush();
        // Kafka's metrics keep threads of their own alive.
        System.exit(0);
    }

    private static void serve(BufferedReader requests, PrintStream answers) throws IOException {
        DriverProtocol protocol = new DriverProtocol();
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
