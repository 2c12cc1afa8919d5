package fencepost.kafka.replication;

import fencepost.kafka.KafkaRelease;
import fencepost.kafka.ManualClock;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import kafka.cluster.Partition;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaManager;
import org.apache.kafka.clients.FetchSessionHandler;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.util.FileLock;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Function0;
import scala.Function1;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * Where the brokers' classes of 4.1, 4.2, 4.3 and 4.4 differ, and the only file that knows it: classes went from Scala to
 * Java, to other packages and to other collections, and constructors lost arguments.
 */
final class ReplicaRelease {
    private static final Class<?> METADATA_CACHE = KafkaRelease.firstOf(
        KafkaRelease.find("org.apache.kafka.metadata.KRaftMetadataCache"),
        KafkaRelease.find("kafka.server.metadata.KRaftMetadataCache"));
    private static final Class<?> ALTER_PARTITION_MANAGER = KafkaRelease.firstOf(
        KafkaRelease.find("org.apache.kafka.server.partition.DefaultAlterPartitionManager"),
        KafkaRelease.find("kafka.server.DefaultAlterPartitionManager"));
    private static final Class<?> ACTION_QUEUE = KafkaRelease.firstOf(
        KafkaRelease.find("org.apache.kafka.server.DelayedActionQueue"),
        KafkaRelease.find("kafka.server.DelayedActionQueue"));
    private static final Class<?> PENDING_EXPAND = pendingState("PendingExpandIsr");
    private static final Class<?> PENDING_SHRINK = pendingState("PendingShrinkIsr");
    private static final Method APPEND = Arrays.stream(ReplicaManager.class.getMethods())
        .filter(method -> method.getName().equals("appendRecords")).findFirst().orElseThrow();
    private static final int FIRST_DEFAULT = 8;

    private ReplicaRelease() {
    }

    private static Class<?> pendingState(String name) {
        return KafkaRelease.firstOf(
            KafkaRelease.find("org.apache.kafka.server.partition." + name), KafkaRelease.find("kafka.cluster." + name));
    }

    /** A {@code KRaftMetadataCache}. */
    static MetadataCache newMetadataCache(int id) {
        Supplier<KRaftVersion> version = () -> KRaftVersion.LATEST_PRODUCTION;
        return (MetadataCache) KafkaRelease.make(METADATA_CACHE.getConstructors()[0], id, version);
    }

    static void setImage(MetadataCache cache, MetadataImage image) {
        KafkaRelease.call(KafkaRelease.method(METADATA_CACHE, "setImage", 1), cache, image);
    }

    /** A {@code DefaultAlterPartitionManager}. */
    static Object newAlterPartitionManager(
        ControllerChannel channel, Scheduler scheduler, ManualClock clock, int id, Supplier<Long> brokerEpoch
    ) {
        Constructor<?> constructor = ALTER_PARTITION_MANAGER.getConstructors()[0];
        Object[] arguments = Arrays.stream(constructor.getParameterTypes()).map(type -> {
            if (type == int.class) {
                return id;
            }
            if (type == Function0.class) {
                return (Function0<Object>) brokerEpoch::get;
            }
            return first(type, channel, scheduler, clock, brokerEpoch);
        }).toArray();
        return KafkaRelease.make(constructor, arguments);
    }

    /** A {@code LogManager}, which has loaded what there is, and runs nothing by itself. */
    static Object newLogManager(
        KafkaConfig config, MetadataCache cache, Scheduler scheduler, ManualClock clock, BrokerTopicStats statistics,
        LogDirFailureChannel failures
    ) {
        Method apply = KafkaRelease.method(kafka.log.LogManager.class, "apply", 7);
        Object noneOffline = apply.getParameterTypes()[1] == Set.class ? Set.of() : CollectionConverters.asScala(List.of());
        Object manager = KafkaRelease.call(apply, null, config, noneOffline, cache, scheduler, clock, statistics, failures);
        Object defaults = KafkaRelease.call(KafkaRelease.method(manager.getClass(), "currentDefaultConfig", 0), manager);
        Method load = KafkaRelease.method(manager.getClass(), "loadLogs", 3);
        boolean isJava = load.getParameterTypes()[1] == Map.class;
        Function<UnifiedLog, Boolean> isStray = log -> false;
        Function1<UnifiedLog, Object> isStrayInScala = log -> false;
        KafkaRelease.call(load, manager, defaults, isJava ? Map.of() : scala.collection.immutable.Map$.MODULE$.empty(),
            isJava ? isStray : isStrayInScala);
        return manager;
    }

    @SuppressWarnings("unchecked")
    static Optional<UnifiedLog> log(Object logManager) {
        Object found =
            KafkaRelease.call(KafkaRelease.method(logManager.getClass(), "getLog", 2), logManager, Topic.PARTITION, false);
        if (found instanceof Option<?> option) {
            return option.isDefined() ? Optional.of((UnifiedLog) option.get()) : Optional.empty();
        }
        return (Optional<UnifiedLog>) found;
    }

    static void shutDown(Object logManager, long brokerEpoch) {
        KafkaRelease.call(KafkaRelease.method(logManager.getClass(), "shutdown", 1), logManager, brokerEpoch);
    }

    /** The locks on the log directories. */
    static Collection<FileLock> locks(Object logManager) {
        List<FileLock> locks = new ArrayList<>();
        all(KafkaRelease.call(KafkaRelease.method(logManager.getClass(), "dirLocks", 0), logManager))
            .forEach(lock -> locks.add((FileLock) lock));
        return locks;
    }

    /**
     * A {@code ReplicaManager} of these parts.
     *
     * @param produce the purgatory for produce requests
     * @param fetch the one for fetches
     * @param other makes one for what this driver does not do
     */
    static ReplicaManager newReplicaManager(
        Object produce, Object fetch, Supplier<Object> other, Function0<Object> brokerEpoch, Object... parts
    ) {
        Constructor<?> constructor = ReplicaManager.class.getConstructors()[0];
        List<Object> arguments = new ArrayList<>();
        for (Parameter parameter : constructor.getParameters()) {
            Class<?> type = parameter.getType();
            String whole = parameter.getParameterizedType().getTypeName();
            if (type == Option.class && whole.contains("DelayedOperationPurgatory")) {
                arguments.add(Option.apply(whole.endsWith("DelayedProduce>>") ? produce
                    : whole.endsWith("DelayedFetch>>") ? fetch : other.get()));
            } else if (type == Option.class) {
                arguments.add(Option.empty());
            } else if (type == Function0.class) {
                arguments.add(brokerEpoch);
            } else if (type == AtomicBoolean.class) {
                arguments.add(new AtomicBoolean());
            } else if (type.isAssignableFrom(ACTION_QUEUE)) {
                arguments.add(KafkaRelease.make(ACTION_QUEUE.getConstructors()[0]));
            } else {
                arguments.add(first(type, parts));
            }
        }
        return (ReplicaManager) KafkaRelease.make(constructor, arguments.toArray());
    }

    /** Puts these fetchers in the place of those that the constructor made, before anything is fetched. */
    static void replaceFetchers(ReplicaManager replicas, ReplicaFetchers fetchers) {
        Field field = KafkaRelease.field(ReplicaManager.class, "replicaFetcherManager");
        try {
            field.set(replicas, fetchers);
        } catch (IllegalAccessException problem) {
            throw new IllegalStateException(problem);
        }
    }

    static FetchSessionHandler newSessionHandler(int leader) {
        Constructor<?> constructor = FetchSessionHandler.class.getConstructors()[0];
        Constructor<?> context = Arrays.stream(constructor.getParameterTypes()[0].getConstructors())
            .filter(candidate -> candidate.getParameterCount() == 0).findFirst().orElseThrow();
        return (FetchSessionHandler) KafkaRelease.make(constructor, KafkaRelease.make(context), leader);
    }

    /** {@code ReplicaManager#appendRecords}. */
    static void append(
        ReplicaManager replicas, long timeoutMs, short acks, MemoryRecords records,
        Consumer<ProduceResponse.PartitionResponse> answer
    ) {
        Function1<Object, BoxedUnit> onStatuses = statuses -> {
            Object status = statuses instanceof Map<?, ?> map ? map.get(Topic.PARTITION_WITH_ID)
                : ((scala.collection.Map<TopicIdPartition, ?>) statuses).apply(Topic.PARTITION_WITH_ID);
            answer.accept((ProduceResponse.PartitionResponse) status);
            return BoxedUnit.UNIT;
        };
        Function1<Object, BoxedUnit> onStatistics = statistics -> BoxedUnit.UNIT;
        List<Object> arguments = new ArrayList<>(List.of(timeoutMs, acks, false, AppendOrigin.CLIENT,
            CollectionConverters.asScala(Map.of(Topic.PARTITION_WITH_ID, records)), onStatuses, onStatistics));
        for (int place = FIRST_DEFAULT; place <= APPEND.getParameterCount(); place++) {
            arguments.add(KafkaRelease.call(
                KafkaRelease.method(ReplicaManager.class, "appendRecords$default$" + place, 0), replicas));
        }
        KafkaRelease.call(APPEND, replicas, arguments.toArray());
    }

    /** What is known of a partition's in-sync replicas: as the controller has confirmed, or as it was asked to. */
    record InSync(Set<Integer> confirmed, Optional<Set<Integer>> proposed) {
    }

    static InSync inSync(Partition partition) {
        Object state = state(partition);
        Method sent = KafkaRelease.method(state.getClass(), "sentLeaderAndIsr", 0);
        if (sent == null) {
            return new InSync(isr(state), Optional.empty());
        }
        Object committed = KafkaRelease.call(KafkaRelease.method(state.getClass(), "lastCommittedState", 0), state);
        return new InSync(isr(committed), Optional.of(isr(KafkaRelease.call(sent, state))));
    }

    /** Makes a proposal of a leader that waits for the controller. */
    static void propose(Partition partition, LeaderAndIsr sent) {
        Object committed = state(partition);
        Set<Integer> added = new HashSet<>(sent.isr());
        added.removeAll(isr(committed));
        Set<Integer> removed = new HashSet<>(isr(committed));
        removed.removeAll(sent.isr());
        Object pending;
        if (added.isEmpty()) {
            Constructor<?> shrink = PENDING_SHRINK.getConstructors()[0];
            Object members = shrink.getParameterTypes()[0] == Set.class ? removed : CollectionConverters.asScala(removed).toSet();
            pending = KafkaRelease.make(shrink, members, sent, committed);
        } else {
            pending = KafkaRelease.make(PENDING_EXPAND.getConstructors()[0], added.iterator().next(), sent, committed);
        }
        KafkaRelease.call(KafkaRelease.method(Partition.class, "partitionState_$eq", 1), partition, pending);
    }

    private static Object state(Partition partition) {
        return KafkaRelease.call(KafkaRelease.method(Partition.class, "partitionState", 0), partition);
    }

    private static Set<Integer> isr(Object state) {
        Set<Integer> isr = new HashSet<>();
        all(KafkaRelease.call(KafkaRelease.method(state.getClass(), "isr", 0), state)).forEach(id -> isr.add((Integer) id));
        return isr;
    }

    /** The elements of a collection of Java's or of Scala's. */
    private static Iterable<?> all(Object collection) {
        return collection instanceof Iterable<?> java ? java
            : CollectionConverters.asJava((scala.collection.Iterable<?>) collection);
    }

    private static Object first(Class<?> type, Object... candidates) {
        return Arrays.stream(candidates).filter(type::isInstance).findFirst()
            .orElseThrow(() -> new IllegalStateException("no " + type + " is at hand in Kafka " + KafkaRelease.version()));
    }
}
