package fencepost.kafka;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a step brought about: the answer or the error of its own request, where that came at once, the answers of earlier
 * requests that came now, and the messages that were sent.
 *
 * @param reply null where nothing was answered: the operation has no answer, or it waits for the high watermark
 * @param completes by the name that the earlier request gave itself, as the answer line has it
 * @param sends by a name of the driver's
 */
public record Outcome(Reply reply, Map<String, ObjectNode> completes, Map<String, ObjectNode> sends) {
    public static final Outcome NOTHING = answered(null);

    /** Its own request was answered, or waits; no other was. */
    public static Outcome answered(Reply reply) {
        return new Outcome(reply, Map.of(), Map.of());
    }

    /** Earlier requests were answered. */
    static Outcome completed(Map<String, Reply> replies) {
        Map<String, ObjectNode> completes = new LinkedHashMap<>();
        replies.forEach((name, reply) -> completes.put(name, reply.asCompletion()));
        return new Outcome(null, completes, Map.of());
    }

    ObjectNode answer() {
        return reply == null ? null : reply.answer();
    }

    String error() {
        return reply == null ? null : reply.error();
    }
}
