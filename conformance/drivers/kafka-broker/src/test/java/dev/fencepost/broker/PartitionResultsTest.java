package dev.fencepost.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;

/** docs/fencing.md 3.2 rows 5 and 6. */
class PartitionResultsTest {
    private final PartitionResults results = new PartitionResults();

    private void add(String partition, Errors error) {
        results.add(TracePartition.parse(partition), error);
    }

    @Test
    void a_fencing_error_at_each_partition_is_the_request_s() {
        add("t-0", Errors.STALE_MEMBER_EPOCH);
        add("t-1", Errors.STALE_MEMBER_EPOCH);
        assertEquals(new Outcome.Refused(Errors.STALE_MEMBER_EPOCH), results.outcome("committed"));
    }

    @Test
    void too_much_metadata_refuses_its_partition_alone() {
        add("t-0", Errors.NONE);
        add("t-1", Errors.OFFSET_METADATA_TOO_LARGE);
        Outcome.Done done = (Outcome.Done) results.outcome("committed");
        assertEquals("{\"committed\":[\"t-0\"],\"refused\":{\"t-1\":\"OFFSET_METADATA_TOO_LARGE\"}}",
                done.answer().toString());
    }

    @Test
    void a_partition_that_never_reached_the_coordinator_does_not_hide_the_request_s_error() {
        add("t-0", Errors.STALE_MEMBER_EPOCH);
        add("u-0", Errors.UNKNOWN_TOPIC_OR_PARTITION);
        assertEquals(new Outcome.Refused(Errors.STALE_MEMBER_EPOCH), results.outcome("committed"));
    }

    @Test
    void a_request_that_is_fenced_in_part_is_not_taken_for_either() {
        add("t-0", Errors.NONE);
        add("t-1", Errors.STALE_MEMBER_EPOCH);
        assertThrows(IllegalStateException.class, () -> results.outcome("committed"));
    }
}
