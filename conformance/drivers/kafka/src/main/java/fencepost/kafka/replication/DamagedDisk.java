package fencepost.kafka.replication;

import fencepost.kafka.compaction.LogFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The directory of a partition while its broker is down. */
final class DamagedDisk {
    private static final int LINES_BEFORE_ENTRIES = 2;

    private final Path directory;

    DamagedDisk(Path directory) {
        this.directory = directory;
    }

    /** Of the log remain the batches below an offset. */
    void keep(long offset) {
        if (Files.exists(directory)) {
            new LogFiles(directory).loseFrom(offset);
        }
    }

    /** Something happens to {@code leader-epoch-checkpoint}: a version, a count, and a line an entry. */
    void damageEpochs(String how) {
        Path file = directory.resolve("leader-epoch-checkpoint");
        try {
            if (how.equals("missing") || !Files.exists(file)) {
                Files.deleteIfExists(file);
                return;
            }
            List<String> lines = Files.readAllLines(file);
            if (lines.isEmpty()) {
                // As Kafka makes it where there is none: no entries.
                return;
            }
            List<String> entries = new ArrayList<>(lines.subList(LINES_BEFORE_ENTRIES, lines.size()));
            switch (how) {
                case "empty" -> entries.clear();
                case "without_newest" -> entries.subList(Math.max(0, entries.size() - 1), entries.size()).clear();
                case "without_oldest" -> entries.subList(0, Math.min(1, entries.size())).clear();
                default -> throw new IllegalArgumentException("a checkpoint can't be `" + how + "`");
            }
            List<String> damaged = new ArrayList<>(List.of(lines.get(0), Integer.toString(entries.size())));
            damaged.addAll(entries);
            Files.write(file, damaged);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }
}
