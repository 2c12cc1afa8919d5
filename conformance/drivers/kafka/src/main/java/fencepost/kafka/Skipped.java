package fencepost.kafka;

/** An operation that this driver cannot carry out on this release of Kafka; the message says why. */
public final class Skipped extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public Skipped(String reason) {
        super(reason, null, false, false);
    }
}
