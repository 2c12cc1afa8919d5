package fencepost.kafka;

import java.util.HashMap;
import java.util.Map;

/**
 * The ids of the trace's members. A member chooses its own, and takes its name; only a static member of the classic
 * protocol is given one by the coordinator when it joins, and nobody knows it before.
 */
final class MemberIds {
    private final Map<String, String> ids = new HashMap<>();
    private final Map<String, String> names = new HashMap<>();
    private String joining;

    /** The id of the member of that name: the one that it was given, else the name itself. */
    String id(String name) {
        String id = ids.computeIfAbsent(name, same -> same);
        names.putIfAbsent(id, name);
        return id;
    }

    /** From now on, an id that no member has is the one that this member is given. */
    void givesIdTo(String name) {
        joining = name;
    }

    /** The name of the member with that id. */
    String name(String id) {
        if (joining != null && !names.containsKey(id)) {
            ids.put(joining, id);
            names.put(id, joining);
            joining = null;
        }
        return names.getOrDefault(id, id);
    }
}
