package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A partition as a trace writes it: {@code t-0}. Ordered by topic, then by number. */
record TracePartition(String topic, int number) implements Comparable<TracePartition> {
    static TracePartition parse(String text) {
        int dash = text.lastIndexOf('-');
        try {
            if (dash > 0) {
                return new TracePartition(text.substring(0, dash), Integer.parseInt(text.substring(dash + 1)));
            }
        } catch (NumberFormatException notANumber) {
            // Said below, together with the other way to be wrong.
        }
        throw new IllegalArgumentException("`" + text + "` is not a partition; write TOPIC-NUMBER, as in t-0");
    }

    /** The numbers by topic, from an array of partitions. */
    static Map<String, List<Integer>> byTopic(JsonNode partitions) {
        Map<String, List<Integer>> topics = new TreeMap<>();
        for (JsonNode text : partitions) {
            TracePartition partition = parse(text.asText());
            topics.computeIfAbsent(partition.topic, topic -> new ArrayList<>()).add(partition.number);
        }
        return topics;
    }

    @Override
    public int compareTo(TracePartition other) {
        int byTopic = topic.compareTo(other.topic);
        return byTopic != 0 ? byTopic : Integer.compare(number, other.number);
    }

    @Override
    public String toString() {
        return topic + "-" + number;
    }
}
