package fencepost.kafka.compaction;

import fencepost.kafka.Skipped;
import java.io.IOException;
import java.security.DigestException;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogCleaningAbortedException;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogToClean;

/**
 * One round of Kafka's {@code Cleaner}, whole or held between its steps.
 *
 * <p>A round in steps runs in a thread of its own, one call of {@code Cleaner#clean}. The cleaner asks a hook now and then
 * whether it may go on: before each segment and chunk that it maps, and before each chunk that it copies. There the thread
 * waits, so that one of the two threads runs at a time. Which part of the round it is in is read from its stack; that a
 * group was swapped in shows in the log's segments.
 */
final class Round {
    private static final StackWalker STACK = StackWalker.getInstance();

    private enum Part { MAPS, COPIES, ENDED }

    private final Cleaner cleaner;
    private final LogToClean chosen;
    private final Semaphore mayGoOn = new Semaphore(0);
    private final Semaphore waits = new Semaphore(0);
    private volatile Part part = Part.MAPS;
    private volatile boolean inSteps;
    /** What the hook throws instead of letting the cleaner go on. */
    private volatile Throwable end;
    private volatile Throwable failure;
    private volatile long cleanedTo;

    Round(Cleaner cleaner, LogToClean chosen) {
        this.cleaner = cleaner;
        this.chosen = chosen;
    }

    /** All of it, in this thread. */
    void run() {
        clean();
        rethrow();
    }

    /** Takes the round's one look at the clock, and stops before anything is mapped. */
    void start() {
        inSteps = true;
        Thread thread = new Thread(() -> {
            clean();
            waits.release();
        }, "round");
        thread.setDaemon(true);
        thread.start();
        waits.acquireUninterruptibly();
        rethrow();
    }

    /** Fills the map, and stops before anything is copied. */
    void buildMap() {
        if (part != Part.MAPS) {
            throw new Skipped("the round has built its map");
        }
        while (part == Part.MAPS) {
            goOn();
        }
    }

    /** Copies a group of segments and swaps it in, and stops before the next one is copied. */
    void cleanGroup() {
        if (part == Part.MAPS) {
            throw new Skipped("the round has not built its map yet, and Kafka would do that first");
        }
        if (part == Part.ENDED) {
            throw new Skipped("the round has no further group of segments");
        }
        List<LogSegment> before = chosen.log().logSegments();
        while (part == Part.COPIES && before.equals(chosen.log().logSegments())) {
            goOn();
        }
    }

    /** Comes to the end, of which only the checkpoint is missing. */
    void finish() {
        if (part != Part.ENDED) {
            throw new Skipped("the round has more groups of segments, which Kafka would clean first");
        }
    }

    /** Gives up, as the cleaner does when it is told to: what it has written of a new segment is deleted. */
    void abort() {
        end(new LogCleaningAbortedException());
    }

    /** Is gone, as if the process had died: what it has written stays. */
    void die() {
        end(new Died());
    }

    long from() {
        return chosen.firstDirtyOffset();
    }

    long bound() {
        return chosen.firstUncleanableOffset();
    }

    /** The first offset that the map does not cover ({@code Cleaner#doClean} computes it the same way). */
    long cleanedTo() {
        return part == Part.ENDED ? cleanedTo : cleaner.offsetMap().latestOffset() + 1;
    }

    int mapEntries() {
        return cleaner.offsetMap().size();
    }

    /** The cleaner's hook. */
    void hook() {
        if (!inSteps) {
            return;
        }
        part = STACK.walk(frames -> frames
            .filter(frame -> frame.getClassName().equals(Cleaner.class.getName()))
            .findFirst()
            .map(frame -> frame.getMethodName().startsWith("buildOffsetMap") ? Part.MAPS : Part.COPIES)
            .orElseThrow());
        waits.release();
        mayGoOn.acquireUninterruptibly();
        if (end instanceof Error died) {
            throw died;
        }
        if (end instanceof RuntimeException aborted) {
            throw aborted;
        }
    }

    private void clean() {
        try {
            cleanedTo = cleaner.clean(chosen).getKey();
        } catch (IOException | DigestException | RuntimeException | Error problem) {
            if (problem != end) {
                failure = problem;
            }
        } finally {
            part = Part.ENDED;
        }
    }

    private void goOn() {
        mayGoOn.release();
        waits.acquireUninterruptibly();
        rethrow();
    }

    private void end(Throwable how) {
        if (part != Part.ENDED) {
            end = how;
            goOn();
        }
    }

    private void rethrow() {
        if (failure != null) {
            throw new IllegalStateException("the cleaner failed: " + failure, failure);
        }
    }

    /** Thrown where the cleaner catches nothing. */
    private static final class Died extends Error {
        private static final long serialVersionUID = 1L;

        Died() {
            super("the process died", null, false, false);
        }
    }
}
