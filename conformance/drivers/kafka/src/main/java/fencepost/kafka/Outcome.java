package fencepost.kafka;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;

/**
 * What a step brought about: the answer or the error of its own request, where that came at once, and the answers of
 * earlier requests that came now.
 *
 * @param reply null where nothing was answered: the operation has no answer, or it waits for the high watermark
 * @param completes by the name that the earlier request gave itself
 */
public record Outcome(Reply reply, Map<String, Reply> completes) {
    public static final Outcome NOTHING = new Outcome(null, Map.of());

    ObjectNode answer() {
        return reply == null ? null : reply.answer();
    }

    String error() {
        return reply == null ? null : reply.error();
    }
}
