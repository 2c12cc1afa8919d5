package org.apache.kafka.controller;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.KafkaRelease;
import fencepost.kafka.Reply;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.IntPredicate;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * A decision of the controller about a partition, made by {@code ReplicationControlManager#alterPartition} and by {@code
 * PartitionChangeBuilder}. It is in this package because their makers are open to it only.
 */
public final class ControllerDecision {
    private static final String TOPIC = "t";
    private static final Uuid TOPIC_ID = new Uuid(7, 7);
    private static final int NO_LEADER = -1;
    private static final byte RECOVERING = 1;
    private static final long SESSION_NS = 9_000_000_000L;

    private final JsonNode given;
    /** A broker's id is its place here. */
    private final List<String> names = new ArrayList<>();

    private ControllerDecision(JsonNode given) {
        this.given = given;
        given.path("replicas").forEach(name -> names.add(name.asText()));
        given.path("brokers").fieldNames().forEachRemaining(this::add);
    }

    private void add(String name) {
        if (!names.contains(name)) {
            names.add(name);
        }
    }

    /** A leader's proposal. */
    public static Reply alterPartition(JsonNode given, JsonNode call) {
        ControllerDecision decision = new ControllerDecision(given);
        decision.add(call.path("from").asText());
        call.path("isr").fieldNames().forEachRemaining(decision::add);
        return decision.alter(call);
    }

    /** An election. */
    public static Reply elect(JsonNode given, JsonNode call) {
        return new ControllerDecision(given).elect(call.path("kind").asText());
    }

    private Reply elect(String kind) {
        PartitionRegistration before = new PartitionRegistration(partition());
        PartitionChangeBuilder builder = newBuilder(before)
            .setDefaultDirProvider(id -> DirectoryId.UNASSIGNED)
            .setElection(switch (kind) {
                case "preferred" -> PartitionChangeBuilder.Election.PREFERRED;
                case "any" -> PartitionChangeBuilder.Election.ONLINE;
                case "unclean" -> PartitionChangeBuilder.Election.UNCLEAN;
                default -> throw new IllegalArgumentException("there is no election `" + kind + "`");
            });
        PartitionRegistration after = builder.build()
            .map(change -> before.merge((PartitionChangeRecord) change.message())).orElse(before);
        List<Integer> isr = new ArrayList<>();
        for (int id : after.isr) {
            isr.add(id);
        }
        return partition(after.leader, after.leaderEpoch, isr, after.partitionEpoch);
    }

    /** Whether there are eligible leader replicas is an argument from 4.3 on, and set afterwards before. */
    private PartitionChangeBuilder newBuilder(PartitionRegistration partition) {
        IntPredicate isAcceptable = this::isActive;
        Object[] arguments = {partition, TOPIC_ID, 0, isAcceptable, MetadataVersion.LATEST_PRODUCTION, 1, hasElr()};
        Constructor<?> constructor = PartitionChangeBuilder.class.getConstructors()[0];
        PartitionChangeBuilder builder = (PartitionChangeBuilder) KafkaRelease.make(
            constructor, Arrays.copyOf(arguments, constructor.getParameterCount()));
        if (constructor.getParameterCount() < arguments.length) {
            KafkaRelease.call(
                KafkaRelease.method(PartitionChangeBuilder.class, "setEligibleLeaderReplicasEnabled", 1), builder, hasElr());
        }
        return builder;
    }

    private Reply alter(JsonNode call) {
        ReplicationControlManager controller = controller();
        var partition = new AlterPartitionRequestData.PartitionData()
            .setPartitionIndex(0)
            .setLeaderEpoch(call.path("leader_epoch").asInt())
            .setPartitionEpoch(call.path("partition_epoch").asInt())
            .setLeaderRecoveryState((byte) (call.path("recovering").asBoolean() ? RECOVERING : 0));
        call.path("isr").fields().forEachRemaining(member -> partition.newIsrWithEpochs().add(
            new AlterPartitionRequestData.BrokerState()
                .setBrokerId(id(member.getKey())).setBrokerEpoch(member.getValue().asLong())));
        AlterPartitionRequestData request = new AlterPartitionRequestData()
            .setBrokerId(id(call.path("from").asText()))
            .setBrokerEpoch(call.path("broker_epoch").asLong())
            .setTopics(List.of(new AlterPartitionRequestData.TopicData()
                .setTopicId(TOPIC_ID).setPartitions(List.of(partition))));
        ControllerRequestContext context = new ControllerRequestContext(
            new RequestHeaderData().setRequestApiVersion(ApiKeys.ALTER_PARTITION.latestVersion()),
            KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
        AlterPartitionResponseData response = controller.alterPartition(context, request).response();
        if (response.errorCode() != Errors.NONE.code()) {
            return Reply.of(Errors.forCode(response.errorCode()));
        }
        AlterPartitionResponseData.PartitionData answer = response.topics().get(0).partitions().get(0);
        if (answer.errorCode() != Errors.NONE.code()) {
            return Reply.of(Errors.forCode(answer.errorCode()));
        }
        return partition(answer.leaderId(), answer.leaderEpoch(), answer.isr(), answer.partitionEpoch());
    }

    private ReplicationControlManager controller() {
        SnapshotRegistry registry = KafkaRelease.newSnapshotRegistry();
        FeatureControlManager features = new FeatureControlManager.Builder()
            .setSnapshotRegistry(registry)
            .setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0)))
            .build();
        features.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
            .setFeatureLevel(MetadataVersion.LATEST_PRODUCTION.featureLevel()));
        if (hasElr()) {
            features.replay(new FeatureLevelRecord().setName(EligibleLeaderReplicasVersion.FEATURE_NAME)
                .setFeatureLevel(EligibleLeaderReplicasVersion.ELRV_1.featureLevel()));
        }
        ClusterControlManager cluster = new ClusterControlManager.Builder()
            .setSnapshotRegistry(registry)
            .setSessionTimeoutNs(SESSION_NS)
            .setFeatureControlManager(features)
            .setBrokerShutdownHandler((id, isClean, records) -> { })
            .build();
        cluster.activate();
        ReplicationControlManager controller = new ReplicationControlManager.Builder()
            .setSnapshotRegistry(registry)
            .setFeatureControl(features)
            .setClusterControl(cluster)
            .setConfigurationControl(new ConfigurationControlManager.Builder()
                .setSnapshotRegistry(registry)
                .setFeatureControl(features)
                .setKafkaConfigSchema(kafka.server.KafkaRaftServer.configSchema())
                .build())
            .build();
        given.path("brokers").fields().forEachRemaining(broker -> cluster.replay(registration(broker), 0));
        controller.replay(new TopicRecord().setName(TOPIC).setTopicId(TOPIC_ID));
        controller.replay(partition());
        return controller;
    }

    private RegisterBrokerRecord registration(Map.Entry<String, JsonNode> broker) {
        return new RegisterBrokerRecord()
            .setBrokerId(id(broker.getKey()))
            .setBrokerEpoch(broker.getValue().path("broker_epoch").asLong())
            .setFenced(broker.getValue().path("fenced").asBoolean())
            .setInControlledShutdown(broker.getValue().path("shutting_down").asBoolean());
    }

    private PartitionRecord partition() {
        JsonNode partition = given.path("partition");
        PartitionRecord record = new PartitionRecord()
            .setTopicId(TOPIC_ID)
            .setPartitionId(0)
            .setReplicas(ids(given.path("replicas")))
            .setDirectories(ids(given.path("replicas")).stream().map(id -> DirectoryId.UNASSIGNED).toList())
            .setIsr(ids(partition.path("isr")))
            .setLeader(partition.path("leader").isNull() ? NO_LEADER : id(partition.path("leader").asText()))
            .setLeaderEpoch(partition.path("leader_epoch").asInt())
            .setPartitionEpoch(partition.path("partition_epoch").asInt())
            .setLeaderRecoveryState((byte) (partition.path("recovering").asBoolean() ? RECOVERING : 0));
        if (hasElr()) {
            record.setEligibleLeaderReplicas(ids(partition.path("elr")));
        }
        return record;
    }

    /** Whether the feature is on does not stand anywhere: it is where there are eligible leader replicas. */
    private boolean hasElr() {
        return given.path("partition").path("elr").size() > 0;
    }

    private boolean isActive(int id) {
        JsonNode broker = given.path("brokers").path(names.get(id));
        return broker.isObject() && !broker.path("fenced").asBoolean() && !broker.path("shutting_down").asBoolean();
    }

    private Reply partition(int leader, int leaderEpoch, List<Integer> isr, int partitionEpoch) {
        ObjectNode outcome = JsonNodeFactory.instance.objectNode();
        ObjectNode partition = outcome.putObject("partition")
            .put("leader", leader == NO_LEADER ? null : names.get(leader))
            .put("leader_epoch", leaderEpoch)
            .put("partition_epoch", partitionEpoch);
        var members = partition.putArray("isr");
        isr.stream().map(names::get).sorted().forEach(members::add);
        return Reply.of(outcome);
    }

    private int id(String name) {
        return names.indexOf(name);
    }

    private List<Integer> ids(JsonNode written) {
        List<Integer> ids = new ArrayList<>();
        written.forEach(name -> ids.add(id(name.asText())));
        return ids;
    }
}
