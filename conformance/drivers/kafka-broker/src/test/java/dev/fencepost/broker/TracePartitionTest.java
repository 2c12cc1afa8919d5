package dev.fencepost.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TracePartitionTest {
    @Test
    void the_number_stands_behind_the_last_dash() {
        assertEquals(new TracePartition("a-b", 12), TracePartition.parse("a-b-12"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "t", "t-", "-1", "t-x"})
    void what_is_no_partition_is_refused(String text) {
        assertThrows(IllegalArgumentException.class, () -> TracePartition.parse(text));
    }
}
