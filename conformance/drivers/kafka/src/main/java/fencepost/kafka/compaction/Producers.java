package fencepost.kafka.compaction;

import java.util.ArrayList;
import java.util.List;

/** The trace's names of producers, and their ids: a name of digits is the id, the others' ids are given out in order. */
final class Producers {
    private static final long FIRST_ID = 1000;

    private final List<String> names = new ArrayList<>();

    long id(String name) {
        if (name.chars().allMatch(letter -> letter >= '0' && letter <= '9')) {
            return Long.parseLong(name);
        }
        if (!names.contains(name)) {
            names.add(name);
        }
        return FIRST_ID + names.indexOf(name);
    }

    String name(long id) {
        long index = id - FIRST_ID;
        return index >= 0 && index < names.size() ? names.get((int) index) : Long.toString(id);
    }
}
