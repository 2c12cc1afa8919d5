package dev.fencepost.broker;

import java.io.IOException;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.apache.kafka.common.protocol.Errors;

/**
 * Asks again where a broker says that it is not ready yet: a coordinator that loads, a transaction whose markers are being
 * written. Only for requests that prepare a step; what a step itself is answered is never asked twice.
 */
final class Retrying {
    private static final Set<Errors> NOT_YET = EnumSet.of(
            Errors.COORDINATOR_LOAD_IN_PROGRESS,
            Errors.COORDINATOR_NOT_AVAILABLE,
            Errors.NOT_COORDINATOR,
            Errors.CONCURRENT_TRANSACTIONS);

    private Retrying() {}

    interface Exchange<T> {
        T get() throws IOException;
    }

    static <T> T until(long patienceNanos, Exchange<T> exchange, Function<T, Errors> error) throws IOException {
        long deadline = System.nanoTime() + patienceNanos;
        while (true) {
            T answer = exchange.get();
            Errors said = error.apply(answer);
            if (said == Errors.NONE) {
                return answer;
            }
            if (!NOT_YET.contains(said) || System.nanoTime() - deadline > 0) {
                throw new IllegalStateException("the broker answered " + said + " to a request that prepares a step");
            }
            LockSupport.parkNanos(2_000_000);
        }
    }
}
