package dev.fencepost.broker;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class AssignmentIntervalTest {
    private static final long MS = 1_000_000;

    @Test
    void it_may_have_passed_since_the_first_heartbeat_was_sent_not_since_the_last_was_answered() {
        AssignmentInterval interval = new AssignmentInterval(1_000);
        interval.heartbeat(0, 10 * MS);
        interval.heartbeat(900 * MS, 910 * MS);
        assertFalse(interval.mayHavePassed(999 * MS));
        assertTrue(interval.mayHavePassed(1_000 * MS));
    }

    @Test
    void it_does_not_run_before_a_heartbeat() {
        assertFalse(new AssignmentInterval(1_000).mayHavePassed(Long.MAX_VALUE));
    }

    @Test
    void without_an_interval_nothing_passes() {
        AssignmentInterval none = AssignmentInterval.none();
        none.heartbeat(0, 1);
        assertFalse(none.mayHavePassed(Long.MAX_VALUE));
    }
}
