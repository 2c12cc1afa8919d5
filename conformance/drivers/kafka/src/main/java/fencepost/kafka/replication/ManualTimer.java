package fencepost.kafka.replication;

import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;

/** The timer of a purgatory, in which nothing runs out of itself: it keeps what was put in last. */
final class ManualTimer implements Timer {
    private TimerTask newest;

    /** What was put in since this was asked last; null where nothing was. */
    TimerTask takeNewest() {
        TimerTask taken = newest;
        newest = null;
        return taken;
    }

    @Override
    public void add(TimerTask task) {
        newest = task;
    }

    @Override
    public boolean advanceClock(long timeoutMs) {
        return false;
    }

    @Override
    public int size() {
        return 0;
    }

    @Override
    public void close() {
    }
}
