package dev.fencepost.broker.demo;

import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.TimeUnit;

/** A demonstration that hangs must not stay. */
final class TimeLimit {
    private TimeLimit() {}

    /** Ends the process with 4 when the time is over. Exiting runs the hooks that stop the broker and remove its directory. */
    static void set(long limitMs) {
        new Timer("time-limit", true).schedule(new TimerTask() {
            @Override
            public void run() {
                System.err.println("not finished within " + TimeUnit.MILLISECONDS.toSeconds(limitMs) + " s; giving up");
                System.exit(4);
            }
        }, limitMs);
    }
}
