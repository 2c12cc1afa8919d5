package fencepost.kafka;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;

/**
 * The cluster's metadata as the coordinator sees it: one broker that has all partitions of all topics.
 *
 * <p>The group's metadata hash covers id, name, partitions and racks of every topic subscribed to (KIP-1101). So moving
 * the broker to another rack changes every group's hash and nothing else that a client could see. That is how a trace's
 * {@code target} lets the group epoch rise: see {@link #moveToAnotherRack}.
 */
final class ClusterMetadata {
    private static final int BROKER = 0;

    /** A change, in the two forms in which a coordinator takes it. */
    record Change(MetadataDelta delta, MetadataImage image) {
    }

    /** A topic; a deleted one that comes back has another id. */
    record Topic(Uuid id, int partitions) {
    }

    private final Map<String, Topic> topics = new TreeMap<>();
    private final Map<Uuid, String> names = new HashMap<>();
    private final Function<String, Uuid> ids;
    private MetadataImage image = MetadataImage.EMPTY;
    private int rack;
    private int topicsMade;
    private long version;

    /** The ids are made up; none is one of Kafka's reserved ones, whose upper half is 0. */
    ClusterMetadata(Map<String, Integer> partitions) {
        this(partitions, null);
    }

    /** @param ids the ids of the topics by their names; null to make them up */
    ClusterMetadata(Map<String, Integer> partitions, Function<String, Uuid> ids) {
        this.ids = ids;
        MetadataDelta delta = KafkaRelease.newDelta(image);
        delta.replay(broker());
        partitions.forEach((name, count) -> create(delta, name, count));
        apply(delta);
    }

    MetadataImage image() {
        return image;
    }

    /** The topic of that name, null where there is none. */
    Topic topic(String name) {
        return topics.get(name);
    }

    /** The name that a topic has, or had before it was deleted; null for an id that was never given out. */
    String name(Uuid id) {
        return names.get(id);
    }

    Map<String, Topic> topics() {
        return topics;
    }

    /** A new rack for the broker, and a mention of each topic, as a coordinator looks only at the topics mentioned. */
    Change moveToAnotherRack() {
        rack++;
        MetadataDelta delta = KafkaRelease.newDelta(image);
        delta.replay(broker());
        for (Topic topic : topics.values()) {
            delta.replay(new PartitionChangeRecord().setTopicId(topic.id()).setPartitionId(0).setLeader(BROKER));
        }
        return apply(delta);
    }

    /**
     * What topics there are from now on.
     *
     * @throws Skipped where a topic would lose partitions, which Kafka can't do
     */
    Change replaceTopics(Map<String, Integer> partitions) {
        partitions.forEach((name, count) -> {
            if (topics.containsKey(name) && topics.get(name).partitions() > count) {
                throw new Skipped("a topic of Kafka's can't lose partitions");
            }
        });
        MetadataDelta delta = KafkaRelease.newDelta(image);
        for (String name : List.copyOf(topics.keySet())) {
            if (!partitions.containsKey(name)) {
                delta.replay(new RemoveTopicRecord().setTopicId(topics.remove(name).id()));
            }
        }
        partitions.forEach((name, count) -> {
            Topic topic = topics.get(name);
            if (topic == null) {
                create(delta, name, count);
            } else if (topic.partitions() < count) {
                addPartitions(delta, name, topic, count);
            }
        });
        return apply(delta);
    }

    private void create(MetadataDelta delta, String name, int count) {
        topicsMade++;
        Topic none = new Topic(ids == null ? new Uuid(1, topicsMade) : ids.apply(name), 0);
        names.put(none.id(), name);
        delta.replay(new TopicRecord().setName(name).setTopicId(none.id()));
        addPartitions(delta, name, none, count);
    }

    private void addPartitions(MetadataDelta delta, String name, Topic topic, int count) {
        for (int partition = topic.partitions(); partition < count; partition++) {
            delta.replay(new PartitionRecord()
                .setTopicId(topic.id())
                .setPartitionId(partition)
                .setReplicas(List.of(BROKER))
                .setIsr(List.of(BROKER))
                .setLeader(BROKER));
        }
        topics.put(name, new Topic(topic.id(), count));
    }

    private RegisterBrokerRecord broker() {
        return new RegisterBrokerRecord().setBrokerId(BROKER).setBrokerEpoch(rack).setRack(
            "rack-" + rack).setFenced(false);
    }

    private Change apply(MetadataDelta delta) {
        version++;
        image = delta.apply(new MetadataProvenance(version, 0, 0, true));
        return new Change(delta, image);
    }
}
