package fencepost.kafka.replication;

import java.util.Optional;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AlterPartitionRequest;
import org.apache.kafka.common.requests.AlterPartitionResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.common.NodeToControllerChannelManager;

/** A broker's channel to the controller, on which requests wait until the trace answers them. */
final class ControllerChannel implements NodeToControllerChannelManager {
    private AlterPartitionRequest request;
    private ControllerRequestCompletionHandler handler;
    private String label;

    /** The request that waits for its answer; null where none does. */
    AlterPartitionRequestData outstanding() {
        return request == null ? null : request.data();
    }

    /** The outstanding request's name; null where there is none, or it has none yet. */
    String label() {
        return label;
    }

    void setLabel(String name) {
        label = name;
    }

    /** The connection is lost under the outstanding request, so that the channel sends it again. */
    void resend() {
        label = null;
    }

    void answer(AlterPartitionResponseData response) {
        ControllerRequestCompletionHandler answered = handler;
        RequestHeader header = new RequestHeader(ApiKeys.ALTER_PARTITION, request.version(), "broker", 0);
        request = null;
        label = null;
        answered.onComplete(new ClientResponse(header, null, "controller", 0, 0, false, null, null,
            new AlterPartitionResponse(response)));
    }

    @Override
    public void sendRequest(
        AbstractRequest.Builder<? extends AbstractRequest> builder, ControllerRequestCompletionHandler completion
    ) {
        request = (AlterPartitionRequest) builder.build(builder.latestAllowedVersion());
        handler = completion;
        label = null;
    }

    @Override
    public void start() {
    }

    @Override
    public void shutdown() {
    }

    @Override
    public Optional<NodeApiVersions> controllerApiVersions() {
        return Optional.empty();
    }

    @Override
    public long getTimeoutMs() {
        return Long.MAX_VALUE;
    }
}
