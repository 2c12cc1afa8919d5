package fencepost.kafka;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;

/**
 * The coordinator's timers, which run out only when a trace says so, whatever their delay.
 *
 * <p>The interface is implemented raw because it lost a type parameter in 4.3.
 */
@SuppressWarnings({"rawtypes", "unchecked"})
final class ManualTimer implements CoordinatorTimer {
    private final Map<String, TimeoutOperation> armed = new HashMap<>();

    /** Takes the timer out, as one that runs out is; null where it is not armed. */
    TimeoutOperation take(String key) {
        return armed.remove(key);
    }

    @Override
    public void schedule(String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation operation) {
        armed.put(key, operation);
    }

    @Override
    public void schedule(String key, long delay, TimeUnit unit, boolean retry, long retryBackoff, TimeoutOperation operation) {
        armed.put(key, operation);
    }

    @Override
    public void scheduleIfAbsent(String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation operation) {
        armed.putIfAbsent(key, operation);
    }

    @Override
    public void cancel(String key) {
        armed.remove(key);
    }

    /** Part of the interface from 4.2 on, hence without the annotation. */
    public boolean isScheduled(String key) {
        return armed.containsKey(key);
    }
}
