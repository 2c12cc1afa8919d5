package dev.fencepost.broker;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;

/** What the driver's lines are answered from. */
interface Target {
    /** Returns when it is ready for a trace. */
    void start() throws Exception;

    /**
     * Makes an empty group.
     *
     * @return why a trace can't be configured like this, if so
     */
    Optional<String> reset(JsonNode configure) throws Exception;

    /** Does one operation of the trace. */
    Outcome step(JsonNode operation) throws Exception;
}
