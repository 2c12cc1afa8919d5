package fencepost.kafka;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.server.util.Scheduler;

/**
 * A broker's scheduler without threads: what is to be done at once is done at once, what is to be done later (old
 * segments' files are deleted) waits for {@link #runDelayed}, and what is to be done again and again is the trace's matter.
 */
public final class InlineScheduler implements Scheduler {
    private final Queue<Runnable> delayed = new ArrayDeque<>();

    /** Does what waits. */
    public void runDelayed() {
        for (Runnable task = delayed.poll(); task != null; task = delayed.poll()) {
            task.run();
        }
    }

    /** The process dies: what waits is never done. */
    public void forget() {
        delayed.clear();
    }

    @Override
    public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
        if (periodMs < 0) {
            if (delayMs <= 0) {
                task.run();
            } else {
                delayed.add(task);
            }
        }
        return new Done();
    }

    @Override
    public void startup() {
    }

    @Override
    public void shutdown() {
    }

    @Override
    public void resizeThreadPool(int newSize) {
    }

    private static final class Done extends CompletableFuture<Void> implements ScheduledFuture<Void> {
        @Override
        public long getDelay(TimeUnit unit) {
            return 0;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }
}
