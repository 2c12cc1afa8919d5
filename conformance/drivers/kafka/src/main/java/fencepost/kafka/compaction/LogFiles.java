package fencepost.kafka.compaction;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

/**
 * The directory of a log whose process died, made to look as it would have.
 *
 * <p>The files are Kafka's own, all of them: what its cleaner wrote, and the old segments' files, which it calls {@code
 * .deleted} and leaves for a minute. The names are the driver's: each file operation of the swap after the one at which the
 * process died is taken back. The order of the operations is that of {@code LocalLog#replaceSegments}: the new segment's
 * files become {@code .swap}, the old segments' files become {@code .deleted} one segment after the other, the new files get
 * their final names.
 */
public final class LogFiles {
    private static final String CLEANED = ".cleaned";
    private static final String SWAP = ".swap";
    private static final String DELETED = ".deleted";
    private static final String LOG = ".log";
    private static final String SNAPSHOT = ".snapshot";

    private final Path directory;

    public LogFiles(Path directory) {
        this.directory = directory;
    }

    Set<String> names() {
        try (Stream<Path> files = Files.list(directory)) {
            Set<String> names = new TreeSet<>();
            files.forEach(file -> names.add(file.getFileName().toString()));
            return names;
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    /**
     * Takes a swap back to one of its file operations.
     *
     * @param before the names before the group was cleaned
     * @param last the last operation that was done
     */
    void takeBackTo(String last, Set<String> before) {
        Set<String> deleted = names();
        deleted.removeAll(before);
        deleted.removeIf(name -> !name.endsWith(DELETED));
        String first = deleted.stream().filter(name -> name.endsWith(LOG + DELETED)).findFirst()
            .map(LogFiles::base).orElseThrow(() -> new IllegalStateException("the swap deleted no segment"));
        String suffix = switch (last) {
            case "cleaned" -> CLEANED;
            case "swap_named", "first_deleted", "all_deleted" -> SWAP;
            case "renamed" -> "";
            default -> throw new IllegalArgumentException("a swap has no operation `" + last + "`");
        };
        // The new segment has the base offset of the first of the old ones.
        for (String name : names()) {
            if (base(name).equals(first) && !name.endsWith(DELETED) && !name.endsWith(SNAPSHOT)) {
                rename(name, name + suffix);
            }
        }
        for (String name : deleted) {
            // Snapshots of producers go after all of the swap.
            boolean isBack = name.endsWith(SNAPSHOT + DELETED) || switch (last) {
                case "cleaned", "swap_named" -> true;
                case "first_deleted" -> !base(name).equals(first);
                default -> false;
            };
            if (isBack) {
                rename(name, name.substring(0, name.length() - DELETED.length()));
            }
        }
    }

    /** Loses what was written from an offset on. */
    public void loseFrom(long offset) {
        for (String name : names()) {
            if (!name.endsWith(LOG)) {
                continue;
            }
            long base = Long.parseLong(base(name));
            if (base > offset) {
                names().stream().filter(file -> base(file).equals(base(name)) && !file.endsWith(DELETED)).forEach(this::delete);
            } else {
                cut(directory.resolve(name), offset);
            }
        }
    }

    void loseSnapshots() {
        names().stream().filter(name -> name.endsWith(SNAPSHOT)).forEach(this::delete);
    }

    /** Deletes a directory with all that is in it. */
    public static void deleteAll(Path directory) {
        if (!Files.exists(directory)) {
            return;
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private static void cut(Path file, long offset) {
        try (FileRecords records = FileRecords.open(file.toFile())) {
            int position = 0;
            for (var batch : records.batches()) {
                if (batch.lastOffset() >= offset) {
                    records.truncateTo(position);
                    return;
                }
                position += batch.sizeInBytes();
            }
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private static String base(String name) {
        int dot = name.indexOf('.');
        return dot < 0 ? name : name.substring(0, dot);
    }

    private void rename(String from, String to) {
        try {
            Files.move(directory.resolve(from), directory.resolve(to));
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private void delete(String name) {
        try {
            Files.deleteIfExists(directory.resolve(name));
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }
}
