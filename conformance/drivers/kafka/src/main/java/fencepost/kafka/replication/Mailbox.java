package fencepost.kafka.replication;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

/**
 * The messages of a trace, by the driver's names, with what a trace does not write of them: where the batches of a fetch's
 * answer begin and end.
 */
final class Mailbox {
    /** A fetch that waits at the leader. */
    private record Parked(String follower, String request) {
    }

    private final Map<String, MemoryRecords> records = new HashMap<>();
    private final Map<String, Parked> parked = new HashMap<>();
    private final Map<String, MemoryRecords> completed = new HashMap<>();
    private Map<String, ObjectNode> replies = new LinkedHashMap<>();
    private int sent;

    /** A message is sent; the name that it gets. */
    String send(ObjectNode content, MemoryRecords batches) {
        sent++;
        String label = "m" + sent;
        if (batches != null) {
            records.put(label, batches);
        }
        return label;
    }

    /** A request is answered at once. */
    void reply(String to, String kind, ObjectNode body, MemoryRecords batches) {
        ObjectNode content = JsonNodeFactory.instance.objectNode().put("to", to).set(kind, body);
        replies.put(send(content, batches), content);
    }

    /** The answers since this was asked last. */
    Map<String, ObjectNode> takeReplies() {
        Map<String, ObjectNode> taken = replies;
        replies = new LinkedHashMap<>();
        return taken;
    }

    /**
     * A fetch waits.
     *
     * @param name the trace's name of it
     * @param request the driver's; null if the follower is not driven
     */
    void park(String name, String follower, String request) {
        parked.put(name, new Parked(follower, request));
    }

    /** A fetch that waited is answered. */
    ObjectNode complete(String name, ServedRequests.Fetched fetched) {
        Parked request = parked.remove(name);
        if (request.request() != null) {
            completed.put(request.request(), fetched.records());
        }
        return JsonNodeFactory.instance.objectNode().put("to", request.follower()).set("fetch_reply", fetched.reply());
    }

    /** The batches of the answer of that name to that request; null where the leader is not driven. */
    MemoryRecords records(String label, String request) {
        return label != null ? records.get(label) : completed.get(request);
    }
}
