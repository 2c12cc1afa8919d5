package fencepost.kafka;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;

/**
 * The coordinator's background tasks. They run after the operation that scheduled them, never inside it: a broker hands
 * them to another thread, and what they bring is a write of its own.
 */
final class ManualExecutor implements CoordinatorExecutor<CoordinatorRecord> {
    private record Task<R>(TaskRunnable<R> body, TaskOperation<CoordinatorRecord, R> completion) {
        CoordinatorResult<Void, CoordinatorRecord> run() {
            R value = null;
            Throwable failure = null;
            try {
                value = body.run();
            } catch (Throwable thrown) {
                failure = thrown;
            }
            return completion.onComplete(value, failure);
        }
    }

    private final Map<String, Task<?>> tasks = new LinkedHashMap<>();

    /** Runs what is scheduled, also what the tasks themselves schedule, and hands over what each wants written. */
    void drain(Consumer<CoordinatorResult<Void, CoordinatorRecord>> write) {
        while (!tasks.isEmpty()) {
            String key = tasks.keySet().iterator().next();
            write.accept(tasks.remove(key).run());
        }
    }

    @Override
    public <R> boolean schedule(String key, TaskRunnable<R> task, TaskOperation<CoordinatorRecord, R> completion) {
        return tasks.putIfAbsent(key, new Task<>(task, completion)) == null;
    }

    @Override
    public boolean isScheduled(String key) {
        return tasks.containsKey(key);
    }

    @Override
    public void cancel(String key) {
        tasks.remove(key);
    }
}
