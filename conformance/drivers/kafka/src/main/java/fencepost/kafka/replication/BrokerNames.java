package fencepost.kafka.replication;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;

/** The brokers' names in a trace, and their ids in Kafka: the first of the replica list is 1. */
public final class BrokerNames {
    private static final int NOBODY = -1;

    private final List<String> names = new ArrayList<>();

    public BrokerNames(JsonNode written) {
        written.forEach(name -> names.add(name.asText()));
    }

    public List<String> all() {
        return names;
    }

    public List<Integer> ids() {
        return names.stream().map(this::id).toList();
    }

    /** The id; -1 for nobody, which is written null. */
    public int idOrNobody(JsonNode name) {
        return name.isNull() ? NOBODY : id(name.asText());
    }

    public int id(String name) {
        int index = names.indexOf(name);
        if (index < 0) {
            throw new IllegalArgumentException("there is no broker " + name);
        }
        return index + 1;
    }

    List<Integer> ids(JsonNode written) {
        List<Integer> ids = new ArrayList<>();
        written.forEach(name -> ids.add(id(name.asText())));
        return ids;
    }

    /** The name; null for nobody. */
    public String name(int id) {
        return id == NOBODY ? null : names.get(id - 1);
    }

    /** The names, in order. */
    ArrayNode written(Collection<Integer> ids) {
        ArrayNode written = JsonNodeFactory.instance.arrayNode();
        TreeSet<String> sorted = new TreeSet<>();
        ids.forEach(id -> sorted.add(name(id)));
        sorted.forEach(written::add);
        return written;
    }
}
