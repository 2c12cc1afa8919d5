package fencepost.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupMetadataManager;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.coordinator.group.modern.consumer.CurrentAssignmentBuilder;

/**
 * A function trace: one decision of the coordinator, made by the class of Kafka's that makes it.
 *
 * <p>The members are loaded into a coordinator from records. A commit check is a commit, sent to the shard; the other
 * decisions are asked of {@code GroupMetadataManager} and {@code CurrentAssignmentBuilder} themselves.
 */
final class FunctionCall {
    private static final Method EPOCH_CHECK =
        KafkaRelease.method(GroupMetadataManager.class, "throwIfConsumerGroupMemberEpochIsInvalid", 3);
    private static final Method NEXT = KafkaRelease.method(CurrentAssignmentBuilder.class, "computeNextAssignment", 2);
    private static final Method ASSIGNED = KafkaRelease.method(ConsumerGroupMember.class, "assignedPartitions", 0);
    private static final Pattern PARTITION = Pattern.compile("-(\\d{1,5})\"");
    /** The topic id of a function trace is its name's first byte, so that names are single letters. */
    private static final List<String> TOPICS = IntStream.rangeClosed('a', 'z').mapToObj(Character::toString).toList();
    private static final int FREE = -1;
    private static final long PRODUCER_ID = 1000;
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    private final ClusterMetadata cluster;
    private final Requests requests;
    private final Answers answers;
    private final Observation observation;
    private final Coordinator coordinator;
    private final JsonNode given;
    private final JsonNode call;

    private FunctionCall(JsonNode given, JsonNode call) {
        int partitions = PARTITION.matcher(given.toString() + call).results()
            .map(MatchResult::group)
            .mapToInt(word -> Integer.parseInt(word.substring(1, word.length() - 1)) + 1)
            .max().orElse(1);
        Map<String, Integer> topics = new TreeMap<>();
        TOPICS.forEach(name -> topics.put(name, partitions));
        this.cluster = new ClusterMetadata(topics, name -> new Uuid(0, name.charAt(0)));
        this.requests = new Requests(cluster, TOPICS);
        this.answers = new Answers(cluster);
        this.observation = new Observation(cluster);
        this.coordinator = new Coordinator(Map.of(), cluster, new ManualClock(), false);
        this.given = given;
        this.call = call;
    }

    /**
     * Makes the decision.
     *
     * @return the outcome in place of an answer, or the error
     */
    static Reply decide(JsonNode given, JsonNode call) {
        if (!call.isObject() || call.size() != 1) {
            throw new IllegalArgumentException("a call is a map of one entry");
        }
        Map.Entry<String, JsonNode> only = call.fields().next();
        FunctionCall function = new FunctionCall(given, only.getValue());
        function.load();
        try {
            return switch (only.getKey()) {
                case "epoch_check" -> function.epochCheck();
                case "commit_check" -> function.commitCheck();
                case "next" -> function.next();
                case "reconcile" -> function.reconcile();
                case "load_assignment" -> function.loadAssignment();
                case "write_assignment" -> function.writeAssignment();
                default -> throw new Skipped("this driver has no function `" + only.getKey() + "`");
            };
        } catch (Skipped reason) {
            throw reason;
        } catch (RuntimeException refusal) {
            return Reply.ofThrown(refusal);
        }
    }

    /** A group that exists, with the members given. */
    private void load() {
        MemberRecords records = new MemberRecords(cluster);
        // What a member is subscribed to matters to `reconcile` only, where the call says it.
        List<String> subscription = call.has("topics") ? Requests.words(call.get("topics")) : TOPICS;
        List<CoordinatorRecord> log = new ArrayList<>();
        log.add(MemberRecords.group(1));
        given.path("members").fields().forEachRemaining(member -> {
            boolean classic = member.getValue().path("classic").asBoolean();
            log.add(MemberRecords.subscription(member.getKey(), subscription, classic));
            log.add(records.assignment(member.getKey(), member.getValue()));
        });
        coordinator.load(log);
    }

    private Reply epochCheck() {
        KafkaRelease.call(EPOCH_CHECK, KafkaRelease.peek(coordinator.shard(), "groupMetadataManager"),
            member(), call.path("epoch").asInt(), owned());
        return accepted(Set.of());
    }

    private Reply commitCheck() {
        ObjectNode commit = call.deepCopy();
        ObjectNode offsets = commit.putObject("offsets");
        call.path("partitions").forEach(partition -> offsets.put(partition.asText(), 1));
        String memberId = call.path("member").asText();
        Reply reply;
        if (call.path("transactional").asBoolean()) {
            commit.put("producer", "p");
            var context = Requests.context(ApiKeys.TXN_OFFSET_COMMIT, call);
            var request = requests.txnCommit(commit, memberId, PRODUCER_ID);
            reply = coordinator.write(null, PRODUCER_ID,
                () -> coordinator.shard().commitTransactionalOffset(context, request), answers::txnCommit);
        } else {
            var context = Requests.context(ApiKeys.OFFSET_COMMIT, call);
            var request = requests.commit(commit, memberId);
            reply = coordinator.write(null, CoordinatorLog.NO_PRODUCER_ID,
                () -> coordinator.shard().commitOffset(context, request), answers::commit);
        }
        if (reply.error() != null) {
            return reply;
        }
        Set<String> stored = new TreeSet<>();
        reply.answer().elements().next().forEach(partition -> stored.add(partition.asText()));
        return accepted(stored);
    }

    /** NEXT, without the rows around it. */
    private Reply next() {
        ConsumerGroupMember member = member();
        Object next = KafkaRelease.call(NEXT, builder(), call.path(
            "epoch").asInt(), KafkaRelease.call(ASSIGNED, member));
        return outcome((ConsumerGroupMember) next);
    }

    private Reply reconcile() {
        return outcome(builder().build());
    }

    private CurrentAssignmentBuilder builder() {
        ConsumerGroupMember member = member();
        Map<Uuid, Set<Integer>> taken = requests.assignment(call.path("taken"));
        BiFunction<Uuid, Integer, Integer> ownersEpoch = (topic, partition) ->
            taken.getOrDefault(topic, Set.of()).contains(partition) || observation.owns(member, topic, partition)
                ? (Integer) member.memberEpoch() : (Integer) FREE;
        CurrentAssignmentBuilder builder = new CurrentAssignmentBuilder(member)
            .withTargetAssignment(call.path(
                "target_epoch").asInt(), new Assignment(requests.assignment(call.path("target"))))
            .withCurrentPartitionEpoch(ownersEpoch)
            .withOwnedTopicPartitions(owned());
        KafkaRelease.setSubscription(builder, cluster.image(), call.path("subscription_changed").asBoolean());
        return builder;
    }

    private Reply loadAssignment() {
        coordinator.load(List.of(
            MemberRecords.subscription(
                "m", TOPICS, false), MemberRecords.assignment("m", call.path("value").asText())));
        return outcome(Observation.member(coordinator.shard(), "m"));
    }

    private Reply writeAssignment() {
        return Reply.of(JSON.objectNode().put("bytes", MemberRecords.written(member())));
    }

    private ConsumerGroupMember member() {
        ConsumerGroupMember member = Observation.member(coordinator.shard(), call.path("member").asText());
        if (member == null) {
            throw new IllegalArgumentException("`" + call.path("member").asText() + "` is not among the members given");
        }
        return member;
    }

    private List<ConsumerGroupHeartbeatRequestData.TopicPartitions> owned() {
        return call.hasNonNull("owned") ? requests.owned(call.get("owned")) : null;
    }

    private static Reply accepted(Set<String> partitions) {
        return Reply.of(JSON.objectNode().set("accepted", Answers.array(partitions)));
    }

    private Reply outcome(ConsumerGroupMember member) {
        ObjectNode written = observation.member(member);
        written.put("previous_epoch", member.previousMemberEpoch());
        if (member.useClassicProtocol()) {
            written.put("classic", true);
        }
        return Reply.of(JSON.objectNode().set("member", written));
    }
}
