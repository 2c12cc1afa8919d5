package fencepost.kafka;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;

/**
 * The answer to one request, or the error: exactly one of the two is there.
 *
 * @param error the name that Kafka gives the error
 */
public record Reply(ObjectNode answer, String error) {
    public static Reply of(ObjectNode answer) {
        return new Reply(answer, null);
    }

    public static Reply of(Errors error) {
        return new Reply(null, error.name());
    }

    /**
     * The error that a client would get for what the coordinator threw.
     *
     * @throws IllegalStateException for what is no answer of the protocol but a fault (of Kafka, or of the driver that
     *     called it in a way in which a broker does not)
     */
    public static Reply ofThrown(Throwable thrown) {
        Throwable cause = thrown;
        while ((cause instanceof CompletionException || cause instanceof ExecutionException) && cause.getCause() != null) {
            cause = cause.getCause();
        }
        if (cause instanceof ApiException) {
            return of(Errors.forException(cause));
        }
        throw new IllegalStateException("the coordinator failed: " + cause, cause);
    }

    ObjectNode asCompletion() {
        ObjectNode completion = JsonNodeFactory.instance.objectNode();
        return error == null ? completion.set("answer", answer) : completion.put("error", error);
    }
}
