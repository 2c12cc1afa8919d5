package fencepost.kafka;

import org.apache.kafka.coordinator.group.modern.MemberState;

/** A member's states, by the trace's names for them and by the byte in the log. */
final class MemberStates {
    private MemberStates() {
    }

    static String name(MemberState state) {
        return switch (state) {
            case STABLE -> "stable";
            case UNREVOKED_PARTITIONS -> "unrevoked";
            case UNRELEASED_PARTITIONS -> "unreleased";
            case UNKNOWN -> "unknown";
        };
    }

    static byte value(String name) {
        for (MemberState state : MemberState.values()) {
            if (name(state).equals(name)) {
                return state.value();
            }
        }
        throw new IllegalArgumentException("a member is stable, unrevoked, unreleased or unknown, not `" + name + "`");
    }
}
