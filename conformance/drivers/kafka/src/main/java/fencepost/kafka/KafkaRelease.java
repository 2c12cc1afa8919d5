package fencepost.kafka;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupCurrentMemberAssignmentValue;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.coordinator.group.modern.consumer.CurrentAssignmentBuilder;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Where the coordinator's classes of 4.1, 4.2, 4.3 and 4.4 differ, and the only file that knows it.
 *
 * <p>The rest of the driver is compiled against one release at a time and calls Kafka directly. What has another
 * signature somewhere is looked up here by reflection: by name and number of parameters where the name stayed, by what
 * the parameters are where only their order or number changed.
 */
public final class KafkaRelease {
    private static final String RUNTIME = "org.apache.kafka.coordinator.common.runtime.";
    private static final String GROUP = "org.apache.kafka.coordinator.group.";

    /** From 4.2 on the shard takes the cluster's metadata wrapped. */
    private static final Class<?> WRAPPED_IMAGE = find(RUNTIME + "KRaftCoordinatorMetadataImage");
    private static final Class<?> WRAPPED_DELTA = find(RUNTIME + "KRaftCoordinatorMetadataDelta");
    /** Until 4.2 {@code onNewMetadataImage(image, delta)}, then {@code onMetadataUpdate(delta, image)}. */
    private static final Method METADATA_CALLBACK =
        firstOf(method(GroupCoordinatorShard.class, "onMetadataUpdate", 2), method(GroupCoordinatorShard.class, "onNewMetadataImage", 2));
    private static final Method LOADED = method(GroupCoordinatorShard.class, "onLoaded", 1);
    private static final Method JOIN =
        firstOf(method(GroupCoordinatorShard.class, "classicGroupJoin", 4), method(GroupCoordinatorShard.class, "classicGroupJoin", 3));
    private static final Class<?> DELETED_TOPIC = find(GROUP + "GroupCoordinatorShard$DeletedTopic");
    private static final Method TOPICS_DELETED = firstOf(
        method(GroupCoordinatorShard.class, "onTopicsDeleted", 1), method(GroupCoordinatorShard.class, "onPartitionsDeleted", 1));
    private static final Method TXN_GENERATION = firstOf(
        method(TxnOffsetCommitRequestData.class, "setGenerationIdOrMemberEpoch", 1),
        method(TxnOffsetCommitRequestData.class, "setGenerationId", 1));
    private static final Method TXN_TOPIC_ID =
        method(TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic.class, "setTopicId", 1);

    private static final Method ASSIGNMENT_EPOCHS =
        method(ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions.class, "setAssignmentEpochs", 1);
    private static final Method METADATA_IMAGE = method(CurrentAssignmentBuilder.class, "withMetadataImage", 1);
    private static final Method SUBSCRIPTION_CHANGED =
        method(CurrentAssignmentBuilder.class, "withHasSubscriptionChanged", 1);
    private static final Method RESOLVED_EXPRESSIONS =
        method(CurrentAssignmentBuilder.class, "withResolvedRegularExpressions", 1);

    private KafkaRelease() {
    }

    /** The version of the artefacts on the class path, as they say it themselves. */
    public static String version() {
        try (InputStream stream = KafkaRelease.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            Properties properties = new Properties();
            properties.load(stream);
            return properties.getProperty("version");
        } catch (IOException problem) {
            throw new IllegalStateException(problem);
        }
    }

    /** Whether a member's partitions carry assignment epochs (KIP-1251, from 4.3 on). */
    static boolean hasAssignmentEpochs() {
        return method(ConsumerGroupMember.class, "assignmentEpoch", 2) != null;
    }

    /** Whether a new target may have to wait (KIP-1263, from 4.3 on). */
    static boolean hasAssignmentInterval() {
        return Arrays.stream(GroupCoordinatorConfig.class.getFields())
            .anyMatch(field -> field.getName().equals("CONSUMER_GROUP_ASSIGNMENT_INTERVAL_MS_CONFIG"));
    }

    /** A registry; its log context moved to another package in 4.4. */
    public static SnapshotRegistry newSnapshotRegistry() {
        Constructor<?> constructor = Arrays.stream(SnapshotRegistry.class.getConstructors())
            .filter(candidate -> candidate.getParameterCount() == 1)
            .findFirst()
            .orElseThrow();
        return (SnapshotRegistry) make(constructor, make(noArguments(constructor.getParameterTypes()[0])));
    }

    /** The groups' own settings, of which there are none; each release wants other arguments, all made of the same. */
    static GroupConfigManager newGroupConfigManager(Map<String, Object> settings, GroupCoordinatorConfig config) {
        Constructor<?> constructor = GroupConfigManager.class.getConstructors()[0];
        Object[] arguments = Arrays.stream(constructor.getParameterTypes())
            .map(type -> {
                if (type == Map.class) {
                    return Map.of();
                }
                return type == GroupCoordinatorConfig.class ? config : call(method(type, "fromProps", 1), null, settings);
            })
            .toArray();
        return (GroupConfigManager) make(constructor, arguments);
    }

    /** A delta to an image; 4.4 has a builder where the others have a constructor. */
    public static MetadataDelta newDelta(MetadataImage image) {
        return DeltaMaker.make(image);
    }

    static void onLoaded(GroupCoordinatorShard shard, MetadataImage image) {
        call(LOADED, shard, wrap(WRAPPED_IMAGE, image));
    }

    static void onMetadataUpdate(GroupCoordinatorShard shard, ClusterMetadata.Change change) {
        Object image = wrap(WRAPPED_IMAGE, change.image());
        Object delta = wrap(WRAPPED_DELTA, change.delta());
        boolean deltaFirst = METADATA_CALLBACK.getParameterTypes()[0].isInstance(delta);
        call(METADATA_CALLBACK, shard, deltaFirst ? delta : image, deltaFirst ? image : delta);
    }

    /** By topic, with its id, from 4.3 on; by partition before. */
    @SuppressWarnings("unchecked")
    static CoordinatorResult<Void, CoordinatorRecord> topicsDeleted(
        GroupCoordinatorShard shard,
        Map<String, ClusterMetadata.Topic> topics
    ) {
        List<Object> deleted = new ArrayList<>();
        topics.forEach((name, topic) -> {
            if (DELETED_TOPIC != null) {
                deleted.add(make(DELETED_TOPIC.getConstructors()[0], topic.id(), name));
            } else {
                for (int partition = 0; partition < topic.partitions(); partition++) {
                    deleted.add(new TopicPartition(name, partition));
                }
            }
        });
        return (CoordinatorResult<Void, CoordinatorRecord>) call(TOPICS_DELETED, shard, deleted);
    }

    /** JoinGroup; 4.4 also takes a flag about what a streams group left behind, of which there is none here. */
    @SuppressWarnings("unchecked")
    static CoordinatorResult<Object, CoordinatorRecord> join(
        GroupCoordinatorShard shard,
        AuthorizableRequestContext context,
        JoinGroupRequestData request,
        CompletableFuture<JoinGroupResponseData> response
    ) {
        Object result = JOIN.getParameterCount() == 3
            ? call(JOIN, shard, context, request, response)
            : call(JOIN, shard, context, request, response, false);
        return (CoordinatorResult<Object, CoordinatorRecord>) result;
    }

    /** TxnOffsetCommit has a member epoch and topic ids by that name from version 6 on (4.4). */
    static void setEpoch(TxnOffsetCommitRequestData request, int epoch) {
        call(TXN_GENERATION, request, epoch);
    }

    static void setTopicId(TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic topic, Uuid id) {
        if (TXN_TOPIC_ID != null) {
            call(TXN_TOPIC_ID, topic, id);
        }
    }

    /** An entry of a member's record has a list of assignment epochs from 4.3 on. */
    static void setAssignmentEpochs(ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions topic, List<Integer> epochs) {
        if (ASSIGNMENT_EPOCHS != null) {
            call(ASSIGNMENT_EPOCHS, topic, epochs);
        }
    }

    /** A reconciliation looks at the subscription from 4.2 on. */
    static void setSubscription(CurrentAssignmentBuilder builder, MetadataImage image, boolean changed) {
        if (METADATA_IMAGE != null) {
            call(METADATA_IMAGE, builder, wrap(WRAPPED_IMAGE, image));
            call(SUBSCRIPTION_CHANGED, builder, changed);
            call(RESOLVED_EXPRESSIONS, builder, Map.of());
        }
    }

    /** A field that has no accessor, of an object or of what it inherits. */
    public static Object peek(Object object, String name) {
        return peek(field(object.getClass(), name), object);
    }

    public static Object peek(Field field, Object object) {
        try {
            return field.get(object);
        } catch (IllegalAccessException problem) {
            throw new IllegalStateException(problem);
        }
    }

    public static Field field(Class<?> type, String name) {
        for (Class<?> holder = type; holder != null; holder = holder.getSuperclass()) {
            try {
                Field field = holder.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException next) {
                // It may be inherited.
            }
        }
        throw new IllegalStateException(type + " has no field " + name + " in Kafka " + version());
    }

    /** The method of that name and number of parameters, inherited or not, public or not; null where there is none. */
    public static Method method(Class<?> type, String name, int parameters) {
        for (Class<?> holder = type; holder != null; holder = holder.getSuperclass()) {
            for (Method method : holder.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == parameters && !method.isBridge()) {
                    method.setAccessible(true);
                    return method;
                }
            }
        }
        return null;
    }

    /** Calls it; what it throws comes out as it was thrown. */
    public static Object call(Method method, Object target, Object... arguments) {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException thrown) {
            throw rethrown(thrown);
        } catch (IllegalAccessException problem) {
            throw new IllegalStateException(problem);
        }
    }

    private static Object wrap(Class<?> wrapper, Object wrapped) {
        return wrapper == null ? wrapped : make(wrapper.getConstructors()[0], wrapped);
    }

    /** Makes one; what the constructor throws comes out as it was thrown. */
    public static Object make(Constructor<?> constructor, Object... arguments) {
        try {
            return constructor.newInstance(arguments);
        } catch (InvocationTargetException thrown) {
            throw rethrown(thrown);
        } catch (ReflectiveOperationException problem) {
            throw new IllegalStateException(problem);
        }
    }

    private static Constructor<?> noArguments(Class<?> type) {
        try {
            return type.getConstructor();
        } catch (NoSuchMethodException problem) {
            throw new IllegalStateException(problem);
        }
    }

    private static RuntimeException rethrown(InvocationTargetException thrown) {
        if (thrown.getCause() instanceof RuntimeException cause) {
            return cause;
        }
        return new IllegalStateException(thrown.getCause());
    }

    /** The class of that name; null where there is none. */
    public static Class<?> find(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException absent) {
            return null;
        }
    }

    /** The first of two of which a release has one. */
    public static <T> T firstOf(T preferred, T other) {
        return preferred != null ? preferred : other;
    }

    private static final class DeltaMaker {
        private static final Class<?> BUILDER = find("org.apache.kafka.image.MetadataDelta$Builder");
        private static final Method SET_IMAGE = BUILDER == null ? null : method(BUILDER, "setImage", 1);
        private static final Method BUILD = BUILDER == null ? null : method(BUILDER, "build", 0);

        static MetadataDelta make(MetadataImage image) {
            if (BUILDER == null) {
                return (MetadataDelta) KafkaRelease.make(MetadataDelta.class.getConstructors()[0], image);
            }
            Object builder = KafkaRelease.make(noArguments(BUILDER));
            return (MetadataDelta) call(BUILD, call(SET_IMAGE, builder, image));
        }
    }
}
