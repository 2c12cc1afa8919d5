package dev.fencepost.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;

/** The lines, answered from a target that is no broker. */
class BrokerDriverTest {
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();

    private String answer(Outcome outcome, String line) throws IOException {
        Target target = new Target() {
            @Override
            public void start() {}

            @Override
            public Optional<String> reset(JsonNode configure) {
                return configure.has("max_size") ? Optional.of("no") : Optional.empty();
            }

            @Override
            public Outcome step(JsonNode operation) {
                if (outcome == null) {
                    throw new IllegalStateException("lost", new IOException("gone"));
                }
                return outcome;
            }
        };
        PrintStream answers = new PrintStream(written, true, StandardCharsets.UTF_8);
        assertTrue(new BrokerDriver(target, answers).handle(line));
        return written.toString(StandardCharsets.UTF_8);
    }

    private static final String STEP = "{\"cmd\":\"step\",\"trace\":\"x\",\"at\":[2,1],\"do\":{\"commit\":{}},\"observe\":false}";

    @Test
    void an_answer_stands_under_ok_with_its_trace_and_step() throws IOException {
        Outcome done = new Outcome.Done(JsonNodeFactory.instance.objectNode().put("epoch", 2));
        assertEquals("{\"trace\":\"x\",\"at\":[2,1],\"ok\":{\"answer\":{\"epoch\":2}}}\n", answer(done, STEP));
    }

    @Test
    void an_operation_without_an_answer_is_just_ok() throws IOException {
        assertEquals("{\"trace\":\"x\",\"at\":[2,1],\"ok\":{}}\n", answer(new Outcome.Done(null), STEP));
    }

    @Test
    void a_refusal_is_kafka_s_name_of_the_error() throws IOException {
        assertEquals("{\"trace\":\"x\",\"at\":[2,1],\"error\":\"STALE_MEMBER_EPOCH\"}\n",
                answer(new Outcome.Refused(Errors.STALE_MEMBER_EPOCH), STEP));
    }

    @Test
    void what_a_client_can_not_do_is_skipped() throws IOException {
        assertEquals("{\"trace\":\"x\",\"at\":[2,1],\"skipped\":\"why\"}\n", answer(new Outcome.Skipped("why"), STEP));
    }

    @Test
    void a_failure_is_broken_with_its_causes_and_does_not_end_the_driver() throws IOException {
        assertEquals("{\"trace\":\"x\",\"at\":[2,1],\"broken\":\"java.lang.IllegalStateException: lost: "
                + "java.io.IOException: gone\"}\n", answer(null, STEP));
    }

    @Test
    void a_reset_that_can_not_be_is_skipped() throws IOException {
        assertEquals("{\"trace\":\"x\",\"skipped\":\"no\"}\n",
                answer(null, "{\"cmd\":\"reset\",\"trace\":\"x\",\"configure\":{\"max_size\":1}}"));
    }

    @Test
    void hello_says_which_epoch_comes_first() throws IOException {
        assertTrue(answer(null, "{\"cmd\":\"hello\",\"protocol_version\":0}").contains("\"first_epoch\":2"));
    }

    @Test
    void garbage_is_said_to_be_garbage() throws IOException {
        assertTrue(answer(null, "{\"cmd\":").startsWith("{\"broken\":\"this line is not JSON"));
    }

    @Test
    void bye_ends_it() throws IOException {
        assertFalse(new BrokerDriver(null, System.out).handle("{\"cmd\":\"bye\"}"));
    }
}
