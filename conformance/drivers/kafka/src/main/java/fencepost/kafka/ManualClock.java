package fencepost.kafka;

import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/**
 * A clock that stands still until it is told to move on.
 *
 * <p>It does not start at 0, which Kafka takes for "no assignment was computed yet".
 */
public final class ManualClock implements Time {
    // Rounds of the cleaner run in a thread of their own.
    private volatile long nowMs = 1_000_000L;

    /** Moves on. */
    public void advance(long byMs) {
        nowMs = nowMs + byMs;
    }

    /** Shows this from now on. */
    public void set(long toMs) {
        nowMs = toMs;
    }

    @Override
    public long milliseconds() {
        return nowMs;
    }

    @Override
    public long nanoseconds() {
        return TimeUnit.MILLISECONDS.toNanos(nowMs);
    }

    @Override
    public void sleep(long ms) {
        advance(ms);
    }

    /** Nothing in the shard waits. */
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException("nothing waits on this clock");
    }
}
