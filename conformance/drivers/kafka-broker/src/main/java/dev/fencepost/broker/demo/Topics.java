package dev.fencepost.broker.demo;

/** The names that one run uses, its own on a broker that several runs share. */
record Topics(String run) {
    /** The number of partitions of the inputs. */
    static final int PARTITIONS = 6;

    String inputs() {
        return run + "-inputs";
    }

    String outputs() {
        return run + "-outputs";
    }

    String group() {
        return run + "-group";
    }
}
