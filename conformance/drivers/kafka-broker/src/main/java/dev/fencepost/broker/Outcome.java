package dev.fencepost.broker;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.protocol.Errors;

/** What came of one operation of a trace. */
sealed interface Outcome {
    /** It was done; {@code answer} is what the request answered, or null for an operation that is no request. */
    record Done(ObjectNode answer) implements Outcome {}

    /** The broker refused the whole request. */
    record Refused(Errors error) implements Outcome {}

    /** A client of a broker can't do this, for the reason given. */
    record Skipped(String reason) implements Outcome {}
}
