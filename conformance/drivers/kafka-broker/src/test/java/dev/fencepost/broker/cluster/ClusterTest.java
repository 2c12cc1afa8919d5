package dev.fencepost.broker.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** On a real cluster: 10 to 20 s, more on a busy machine. */
@Tag("broker")
class ClusterTest {
    @Test
    void nothing_of_a_cluster_outlives_it_not_even_a_paused_broker() {
        assertTimeoutPreemptively(Duration.ofSeconds(120), () -> {
            List<ProcessHandle> processes;
            Path directory;
            try (Cluster cluster = Cluster.start(Map.of())) {
                directory = cluster.a().properties().getParent();
                cluster.a().pause();
                processes = ProcessHandle.current().descendants().toList();
                // Four nodes, and the four shells that guard them.
                assertEquals(8, processes.size());
                assertTrue(Files.exists(directory));
            }
            assertTrue(processes.stream().noneMatch(ProcessHandle::isAlive));
            assertFalse(Files.exists(directory));
        });
    }
}
