package dev.fencepost.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TraceOffsetTest {
    private final ObjectMapper json = new ObjectMapper();

    @ParameterizedTest
    @ValueSource(strings = {"7", "{\"offset\":7,\"leader_epoch\":0}", "{\"offset\":7,\"metadata_bytes\":5}"})
    void an_offset_is_written_as_it_was_read(String text) throws Exception {
        JsonNode node = json.readTree(text);
        TraceOffset read = TraceOffset.read(node);
        assertEquals(text, json.writeValueAsString(
                TraceOffset.of(read.offset(), read.leaderEpoch(), read.metadata()).write()));
    }

    @Test
    void metadata_has_the_length_that_is_asked_for() throws Exception {
        assertEquals(4097, TraceOffset.read(json.readTree("{\"offset\":1,\"metadata_bytes\":4097}")).metadata().length());
    }
}
