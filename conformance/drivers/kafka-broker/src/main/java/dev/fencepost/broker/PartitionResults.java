package dev.fencepost.broker;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.protocol.Errors;

/**
 * The answer to a request that is answered partition by partition, as a trace tells it.
 *
 * <p>{@code OffsetCommit} and {@code TxnOffsetCommit} have no error of their own: a request that is refused as a whole has
 * the same error at each partition that reached the coordinator (docs/fencing.md 3.2 row 6). Only a few errors are about
 * single partitions; any other is the request's.
 */
final class PartitionResults {
    private static final Set<Errors> OF_A_PARTITION = EnumSet.of(
            Errors.OFFSET_METADATA_TOO_LARGE,
            Errors.UNKNOWN_TOPIC_ID,
            Errors.UNKNOWN_TOPIC_OR_PARTITION,
            Errors.TOPIC_AUTHORIZATION_FAILED,
            Errors.UNSTABLE_OFFSET_COMMIT);

    private final TreeSet<TracePartition> accepted = new TreeSet<>();
    private final TreeMap<TracePartition, Errors> refused = new TreeMap<>();

    void add(TracePartition partition, Errors error) {
        if (error == Errors.NONE) {
            accepted.add(partition);
        } else {
            refused.put(partition, error);
        }
    }

    /** Whether any partition has this error. */
    boolean has(Errors error) {
        return refused.containsValue(error);
    }

    /** The outcome, whose answer names the accepted partitions {@code as}. */
    Outcome outcome(String as) {
        Set<Errors> ofTheRequest = EnumSet.noneOf(Errors.class);
        refused.values().stream().filter(error -> !OF_A_PARTITION.contains(error)).forEach(ofTheRequest::add);
        if (ofTheRequest.size() > 1 || !ofTheRequest.isEmpty() && !accepted.isEmpty()) {
            throw new IllegalStateException("partly accepted, though this is no error of a partition: " + refused);
        }
        if (!ofTheRequest.isEmpty()) {
            return new Outcome.Refused(ofTheRequest.iterator().next());
        }
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        ArrayNode names = answer.putArray(as);
        accepted.forEach(partition -> names.add(partition.toString()));
        putRefused(answer, refused);
        return new Outcome.Done(answer);
    }

    /** Adds the refused partitions to an answer, if there are any. */
    static void putRefused(ObjectNode answer, Map<TracePartition, Errors> refused) {
        if (!refused.isEmpty()) {
            ObjectNode errors = answer.putObject("refused");
            refused.forEach((partition, error) -> errors.put(partition.toString(), error.name()));
        }
    }
}
