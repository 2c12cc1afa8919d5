package fencepost.kafka;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * Where this process keeps its logs: a directory of its own, in memory where the system has a file system in memory. It goes
 * when the process ends; what a process left that was killed goes when the next one starts.
 */
final class LogDirectory {
    private static final Path MEMORY = Path.of("/dev/shm");
    private static final String PREFIX = "fencepost-kafka-";

    private LogDirectory() {
    }

    /** A new one, below {@code parent}; null leaves the choice to the driver. */
    static Path create(String parent) {
        Path chosen = parent != null ? Path.of(parent)
            : Files.isWritable(MEMORY) ? MEMORY : Path.of(System.getProperty("java.io.tmpdir"));
        try {
            removeLeftOvers(chosen);
            Path directory = Files.createDirectories(chosen.resolve(PREFIX + ProcessHandle.current().pid()));
            Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(directory)));
            return directory;
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private static void removeLeftOvers(Path parent) throws IOException {
        try (Stream<Path> found = Files.list(parent)) {
            found.filter(path -> path.getFileName().toString().matches(PREFIX + "\\d{1,18}"))
                .filter(path -> ProcessHandle.of(Long.parseLong(path.getFileName().toString().substring(PREFIX.length()))).isEmpty())
                .forEach(LogDirectory::delete);
        }
    }

    private static void delete(Path directory) {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException problem) {
            System.err.println("left behind: " + directory + " (" + problem + ")");
        }
    }
}
