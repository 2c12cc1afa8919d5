package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Uuid;

/**
 * The topics of one trace on the broker. A trace's {@code t} is {@code fp7-topic-t} there, where 7 is the number of the
 * trace in this process, so that no trace sees what another left.
 *
 * <p>Beside them stands a topic that no trace names and no member is ever assigned: {@code fp7-target}. Every member
 * that subscribes to anything subscribes to it as well. A group's epoch rises with the next heartbeat after the number of
 * partitions of a subscribed topic has changed, and growing this topic is how {@code target} makes it rise.
 */
final class TraceTopics {
    private static final long ADMIN_SECONDS = 30;

    private final SingleNodeBroker broker;
    private final Admin admin;
    private final String prefix;
    private final Map<String, Uuid> ids = new HashMap<>();
    private final Map<Uuid, String> names = new HashMap<>();
    private final TreeMap<String, Integer> counts = new TreeMap<>();
    private int targets = 1;

    TraceTopics(SingleNodeBroker broker, Admin admin, int number) {
        this.broker = broker;
        this.admin = admin;
        this.prefix = "fp" + number;
    }

    /** Creates the topics of {@code configure}, and the hidden one. */
    void create(JsonNode topics) throws Exception {
        Map<String, Integer> wanted = counts(topics);
        List<NewTopic> creations = new ArrayList<>();
        creations.add(new NewTopic(hidden(), targets, (short) 1));
        wanted.forEach((topic, count) -> creations.add(new NewTopic(name(topic), count, (short) 1)));
        create(creations, wanted);
    }

    /**
     * Makes the topics what a {@code topics} operation says.
     *
     * @return why this can't be done, if it can't
     */
    Optional<String> change(JsonNode topics) throws Exception {
        Map<String, Integer> wanted = counts(topics);
        List<String> gone = new ArrayList<>();
        for (Map.Entry<String, Integer> old : counts.entrySet()) {
            Integer count = wanted.get(old.getKey());
            if (count == null) {
                gone.add(old.getKey());
            } else if (count < old.getValue()) {
                return Optional.of("a topic of a real broker does not shrink");
            }
        }
        deleteTopics(gone);
        Map<String, NewPartitions> grown = new HashMap<>();
        List<NewTopic> creations = new ArrayList<>();
        wanted.forEach((topic, count) -> {
            if (!counts.containsKey(topic)) {
                creations.add(new NewTopic(name(topic), count, (short) 1));
            } else if (count > counts.get(topic)) {
                grown.put(name(topic), NewPartitions.increaseTo(count));
            }
        });
        admin.createPartitions(grown).all().get(ADMIN_SECONDS, TimeUnit.SECONDS);
        create(creations, wanted);
        return Optional.empty();
    }

    /** The broker drops what was committed for them. A topic that comes back has another id. */
    private void deleteTopics(List<String> gone) throws Exception {
        admin.deleteTopics(gone.stream().map(this::name).toList()).all().get(ADMIN_SECONDS, TimeUnit.SECONDS);
        for (String topic : gone) {
            counts.remove(topic);
            ids.remove(topic);
        }
        broker.awaitMetadata();
    }

    /** Lets the group's epoch rise with the next heartbeat of any member, once and not twice if it is called twice. */
    void growHidden() throws Exception {
        targets++;
        admin.createPartitions(Map.of(hidden(), NewPartitions.increaseTo(targets))).all()
                .get(ADMIN_SECONDS, TimeUnit.SECONDS);
        broker.awaitMetadata();
    }

    /** Deletes them all, so that a long run does not fill the broker. */
    void delete() throws Exception {
        List<String> all = new ArrayList<>(List.of(hidden()));
        counts.keySet().forEach(topic -> all.add(name(topic)));
        admin.deleteTopics(all).all().get(ADMIN_SECONDS, TimeUnit.SECONDS);
    }

    /** What a member sends that subscribes to these topics of the trace. */
    List<String> subscription(Collection<String> topics) {
        List<String> subscribed = new ArrayList<>();
        topics.forEach(topic -> subscribed.add(name(topic)));
        if (!subscribed.isEmpty()) {
            subscribed.add(hidden());
        }
        return subscribed;
    }

    /** The trace's names of all its topics. */
    Collection<String> all() {
        return counts.keySet();
    }

    /** The broker's name of a topic of the trace. */
    String name(String topic) {
        return prefix + "-topic-" + topic;
    }

    /** The id of a topic; of one that does not exist, an id that the broker does not know. */
    Uuid id(String topic) {
        return ids.computeIfAbsent(topic, unknown -> Uuid.randomUuid());
    }

    /** The trace's name of what an answer refers to by id, or by name where the request's version has no ids. */
    String traceName(Uuid id, String name) {
        String found = names.get(id);
        if (found != null) {
            return found;
        }
        if (name != null && name.startsWith(name(""))) {
            return name.substring(name("").length());
        }
        for (Map.Entry<String, Uuid> entry : ids.entrySet()) {
            if (entry.getValue().equals(id)) {
                return entry.getKey();
            }
        }
        throw new IllegalStateException("the answer names a topic that was not asked for: " + id + " " + name);
    }

    private String hidden() {
        return prefix + "-target";
    }

    private void create(List<NewTopic> creations, Map<String, Integer> wanted) throws Exception {
        CreateTopicsResult created = admin.createTopics(creations);
        created.all().get(ADMIN_SECONDS, TimeUnit.SECONDS);
        counts.putAll(wanted);
        for (String topic : counts.keySet()) {
            if (created.values().containsKey(name(topic))) {
                Uuid id = created.topicId(name(topic)).get();
                ids.put(topic, id);
                names.put(id, topic);
            }
        }
        broker.awaitMetadata();
    }

    private static Map<String, Integer> counts(JsonNode topics) {
        Map<String, Integer> counts = new TreeMap<>();
        topics.properties().forEach(entry -> counts.put(entry.getKey(), entry.getValue().asInt()));
        return counts;
    }
}
