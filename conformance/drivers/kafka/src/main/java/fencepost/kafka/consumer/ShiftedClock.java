package fencepost.kafka.consumer;

import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/** The system's clock, which can be put forward: the newer consumer's thread waits by it. */
final class ShiftedClock implements Time {
    private volatile long aheadMs;

    /** Puts it forward. */
    void advance(long byMs) {
        aheadMs += byMs;
    }

    @Override
    public long milliseconds() {
        return System.currentTimeMillis() + aheadMs;
    }

    @Override
    public long nanoseconds() {
        return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(aheadMs);
    }

    @Override
    public void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException problem) {
            Thread.currentThread().interrupt();
        }
    }

    /** A method of {@code Time} until 4.3. No consumer calls it. */
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException("nothing waits on this clock");
    }
}
