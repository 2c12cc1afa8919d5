package fencepost.kafka.replication;

import com.fasterxml.jackson.databind.JsonNode;
import fencepost.kafka.KafkaRelease;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

/** The cluster's metadata as one broker knows it. */
final class ClusterImage {
    static final String LISTENER = "PLAINTEXT";
    static final int FIRST_BROKER_EPOCH = 1;
    private static final int FIRST_PORT = 9100;
    private static final int NO_LEADER_EPOCH = -1;

    /** A change, in the two forms in which a broker takes it. */
    record Change(MetadataDelta delta, MetadataImage image) {
    }

    private final BrokerNames names;
    private MetadataImage image = MetadataImage.EMPTY;
    /** What there is beside the partition: what a broker knows that has just come up. */
    private MetadataImage withoutTopic;
    private long version;

    ClusterImage(BrokerNames names) {
        this.names = names;
        MetadataDelta delta = KafkaRelease.newDelta(image);
        delta.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
            .setFeatureLevel(MetadataVersion.LATEST_PRODUCTION.featureLevel()));
        names.ids().forEach(id -> delta.replay(registration(id, FIRST_BROKER_EPOCH)));
        apply(delta);
        withoutTopic = image;
    }

    MetadataImage image() {
        return image;
    }

    /** The broker comes up, and has yet to hear of the partition. */
    void forgetTopic() {
        image = withoutTopic;
    }

    /** Records of the controller, as one delta. */
    Change change(JsonNode records, int knownPartitionEpoch) {
        MetadataDelta delta = KafkaRelease.newDelta(image);
        MetadataDelta beside = KafkaRelease.newDelta(withoutTopic);
        PartitionRegistration known = partition();
        if (known == null && hasPartition(records)) {
            delta.replay(new TopicRecord().setName(Topic.NAME).setTopicId(Topic.ID));
        }
        int partitionEpoch = known == null ? knownPartitionEpoch : Math.max(known.partitionEpoch, knownPartitionEpoch);
        for (JsonNode record : records) {
            if (record.has("broker")) {
                RegisterBrokerRecord registration =
                    registration(names.id(record.get("broker").asText()), record.path("broker_epoch").asLong())
                        .setFenced(record.path("fenced").asBoolean())
                        .setInControlledShutdown(record.path("shutting_down").asBoolean());
                delta.replay(registration);
                beside.replay(registration);
            } else {
                partitionEpoch = record.path("partition_epoch").asInt(partitionEpoch + 1);
                delta.replay(partition(record, partitionEpoch));
            }
        }
        withoutTopic = beside.apply(provenance());
        return apply(delta);
    }

    /** The broker's own registration, which it made itself. */
    void register(int id, long epoch) {
        MetadataDelta delta = KafkaRelease.newDelta(withoutTopic);
        delta.replay(registration(id, epoch));
        withoutTopic = delta.apply(provenance());
        image = withoutTopic;
    }

    private PartitionRegistration partition() {
        return image.topics().getPartition(Topic.ID, 0);
    }

    private static boolean hasPartition(JsonNode records) {
        for (JsonNode record : records) {
            if (record.has("leader")) {
                return true;
            }
        }
        return false;
    }

    private PartitionRecord partition(JsonNode record, int partitionEpoch) {
        PartitionRecord partition = new PartitionRecord()
            .setTopicId(Topic.ID)
            .setPartitionId(0)
            .setReplicas(names.ids())
            .setDirectories(names.ids().stream().map(id -> org.apache.kafka.common.DirectoryId.UNASSIGNED).toList())
            .setIsr(names.ids(record.path("isr")))
            .setLeader(names.idOrNobody(record.get("leader")))
            .setLeaderEpoch(record.path("leader_epoch").asInt(NO_LEADER_EPOCH))
            .setLeaderRecoveryState((byte) (record.path("recovering").asBoolean() ? 1 : 0))
            .setPartitionEpoch(partitionEpoch);
        if (record.path("elr").size() > 0) {
            partition.setEligibleLeaderReplicas(names.ids(record.get("elr")));
        }
        return partition;
    }

    private static RegisterBrokerRecord registration(int id, long epoch) {
        RegisterBrokerRecord registration = new RegisterBrokerRecord()
            .setBrokerId(id)
            .setBrokerEpoch(epoch)
            .setIncarnationId(new Uuid(id, epoch))
            .setLogDirs(List.of())
            .setFenced(false);
        registration.endPoints().add(new RegisterBrokerRecord.BrokerEndpoint()
            .setName(LISTENER).setHost("localhost").setPort(FIRST_PORT + id).setSecurityProtocol((short) 0));
        return registration;
    }

    private Change apply(MetadataDelta delta) {
        image = delta.apply(provenance());
        return new Change(delta, image);
    }

    private MetadataProvenance provenance() {
        version++;
        return new MetadataProvenance(version, 0, 0, true);
    }
}
