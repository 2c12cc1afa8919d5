package fencepost.kafka;

import com.yammer.metrics.core.MetricsRegistry;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Kafka's group coordinator shard in the place that {@code CoordinatorRuntime} gives it in a broker: one thread, a log, a
 * high watermark, timers, background tasks (docs/fencing.md 4.3).
 *
 * <p>A write is checked against the newest state; its records are applied and appended; it is answered once the high
 * watermark has passed all that was in the log by then, so a request that writes nothing waits for earlier ones. An
 * error is answered at once. The registry holds a snapshot of the state for each end of a write that is not committed
 * yet, and one for the high watermark, which is what plain reads see.
 */
final class Coordinator {
    private static final TopicPartition PARTITION = new TopicPartition("__consumer_offsets", 0);
    /** One for the process, as each registry of metrics has threads of its own. */
    private static final GroupCoordinatorMetrics METRICS = new GroupCoordinatorMetrics(new MetricsRegistry(), new Metrics());

    private record Waiting(String name, long offset, CoordinatorResult<?, ?> result, Supplier<Reply> reply) {
    }

    private final GroupCoordinatorConfig config;
    private final GroupConfigManager groupConfigs;
    private final ManualClock clock;
    private final boolean held;
    private final CoordinatorLog log = new CoordinatorLog();
    private final Deque<Waiting> waiting = new ArrayDeque<>();
    private long highWatermark;
    private GroupCoordinatorShard shard;
    private SnapshotRegistry snapshots;
    private ManualTimer timer;
    private ManualExecutor executor;

    /**
     * An empty coordinator that knows the cluster.
     *
     * @param held whether the high watermark rises by {@link #replicate} only, and not with each write
     */
    Coordinator(Map<String, Object> settings, ClusterMetadata cluster, ManualClock clock, boolean held) {
        this.config = GroupCoordinatorConfig.fromProps(settings);
        this.groupConfigs = KafkaRelease.newGroupConfigManager(settings, config);
        this.clock = clock;
        this.held = held;
        load(cluster);
    }

    GroupCoordinatorShard shard() {
        return shard;
    }

    /** The end of what is committed; what a plain read sees. */
    long highWatermark() {
        return highWatermark;
    }

    /** The end of what was written. */
    long endOffset() {
        return log.endOffset();
    }

    /**
     * A request that may write.
     *
     * @param name under which it is answered later, null where the trace gives it none
     * @param producerId of a transactional write, else {@link CoordinatorLog#NO_PRODUCER_ID}
     * @param reply what the answer is, asked once the write is committed
     * @return the reply, null where it has to wait
     */
    <T> Reply write(
        String name,
        long producerId,
        Supplier<CoordinatorResult<T, CoordinatorRecord>> operation,
        Function<T, Reply> reply
    ) {
        CoordinatorResult<T, CoordinatorRecord> result;
        try {
            result = operation.get();
        } catch (RuntimeException refusal) {
            return Reply.ofThrown(refusal);
        }
        append(result, producerId);
        Reply now = settle(name, result, () -> reply.apply(result.response()));
        executor.drain(this::writeUnasked);
        return now;
    }

    /** What the coordinator writes by itself: a timer or a background task. */
    private void writeUnasked(CoordinatorResult<?, CoordinatorRecord> result) {
        append(result, CoordinatorLog.NO_PRODUCER_ID);
        settle(null, result, () -> null);
    }

    /** Ends a producer's transaction; answered as a write is. */
    Reply endTransaction(String name, long producerId, TransactionResult result, Reply reply) {
        log.appendMarker(producerId, result);
        shard.replayEndTransactionMarker(producerId, CoordinatorLog.FIRST_PRODUCER_EPOCH, result);
        return settle(name, null, () -> reply);
    }

    /** Lets a timer run out; nothing happens where it is not armed. */
    @SuppressWarnings("unchecked")
    void fire(String timerKey) {
        var operation = timer.take(timerKey);
        if (operation != null) {
            writeUnasked((CoordinatorResult<?, CoordinatorRecord>) operation.generateRecords());
            executor.drain(this::writeUnasked);
        }
    }

    void metadataChanged(ClusterMetadata.Change change) {
        KafkaRelease.onMetadataUpdate(shard, change);
    }

    /** Records that some earlier coordinator left in the log. */
    void load(List<CoordinatorRecord> records) {
        writeUnasked(new CoordinatorResult<>(records));
    }

    /** What the broker tells its coordinators about deleted topics; their committed offsets go. */
    void topicsDeleted(Map<String, ClusterMetadata.Topic> topics) {
        writeUnasked(KafkaRelease.topicsDeleted(shard, topics));
    }

    /**
     * Raises the high watermark over the request of that name, or over everything where the name is null.
     *
     * @return the requests answered by that, with their replies, in the order in which they came
     */
    Map<String, Reply> replicate(String through) {
        long offset = through == null ? log.endOffset() : waiting.stream()
            .filter(request -> through.equals(request.name()))
            .mapToLong(Waiting::offset)
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("no request `" + through + "` waits for the high watermark"));
        return commit(offset);
    }

    /**
     * Another broker takes over: it has what is below the high watermark and nothing above. Requests that wait are told
     * that they asked the wrong broker.
     */
    Map<String, Reply> failOver(ClusterMetadata cluster) {
        Map<String, Reply> replies = new LinkedHashMap<>();
        for (Waiting request : waiting) {
            if (request.name() != null) {
                replies.put(request.name(), Reply.of(Errors.NOT_COORDINATOR));
            }
        }
        waiting.clear();
        log.truncate(highWatermark);
        load(cluster);
        return replies;
    }

    private void load(ClusterMetadata cluster) {
        snapshots = KafkaRelease.newSnapshotRegistry();
        timer = new ManualTimer();
        executor = new ManualExecutor();
        @SuppressWarnings("unchecked")
        GroupCoordinatorShard loaded = (GroupCoordinatorShard) new GroupCoordinatorShard.Builder(config, groupConfigs)
            .withAuthorizerPlugin(Optional.empty())
            .withSnapshotRegistry(snapshots)
            .withTime(clock)
            .withTimer(timer)
            .withExecutor(executor)
            .withCoordinatorMetrics(METRICS)
            .withTopicPartition(PARTITION)
            .build();
        shard = loaded;
        log.replay(shard);
        highWatermark = log.endOffset();
        snapshots.idempotentCreateSnapshot(highWatermark);
        KafkaRelease.onLoaded(shard, cluster.image());
    }

    private void append(CoordinatorResult<?, CoordinatorRecord> result, long producerId) {
        List<CoordinatorRecord> records = result.records();
        for (CoordinatorRecord record : records) {
            long offset = log.endOffset();
            log.append(record, producerId);
            // The old classic groups change in memory first and say so; all others change by their records.
            if (result.replayRecords()) {
                short epoch = producerId == CoordinatorLog.NO_PRODUCER_ID
                    ? CoordinatorLog.NO_PRODUCER_EPOCH : CoordinatorLog.FIRST_PRODUCER_EPOCH;
                shard.replay(offset, producerId, epoch, record);
            }
        }
    }

    private Reply settle(String name, CoordinatorResult<?, ?> result, Supplier<Reply> reply) {
        snapshots.idempotentCreateSnapshot(log.endOffset());
        if (held && highWatermark < log.endOffset()) {
            if (name != null && waiting.stream().anyMatch(request -> name.equals(request.name()))) {
                throw new IllegalStateException("a request `" + name + "` waits already");
            }
            waiting.add(new Waiting(name, log.endOffset(), result, reply));
            return null;
        }
        // Nothing else waits here, so the one reply is this request's.
        waiting.add(new Waiting("", log.endOffset(), result, reply));
        return commit(log.endOffset()).get("");
    }

    private Map<String, Reply> commit(long offset) {
        if (offset > highWatermark) {
            highWatermark = offset;
            snapshots.deleteSnapshotsUpTo(offset);
        }
        Map<String, Reply> replies = new LinkedHashMap<>();
        while (!waiting.isEmpty() && waiting.peek().offset() <= highWatermark) {
            Waiting request = waiting.remove();
            if (request.result() != null && request.result().appendFuture() != null) {
                request.result().appendFuture().complete(null);
            }
            Reply reply = request.reply().get();
            if (request.name() != null) {
                replies.put(request.name(), reply);
            }
        }
        return replies;
    }
}
