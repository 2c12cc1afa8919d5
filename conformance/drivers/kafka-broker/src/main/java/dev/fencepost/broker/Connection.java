package dev.fencepost.broker;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;

/**
 * One connection to a broker, on which Kafka's own request classes are written and its response classes are read, one
 * at a time. There is no client around it: nothing is retried, batched or reordered.
 */
public final class Connection implements AutoCloseable {
    private static final int TIMEOUT_MS = 30_000;

    private final int port;
    private final int timeoutMs;
    private final String clientId;
    private Socket socket;
    private DataInputStream in;
    private DataOutputStream out;
    private int correlationId;

    Connection(SingleNodeBroker broker, String clientId) throws IOException {
        this(broker.port(), clientId, TIMEOUT_MS);
    }

    /** A connection to whatever listens on this port of loopback; an answer that takes longer is an {@link IOException}. */
    public Connection(int port, String clientId, int timeoutMs) throws IOException {
        this.port = port;
        this.timeoutMs = timeoutMs;
        this.clientId = clientId;
        connect();
    }

    private void connect() throws IOException {
        socket = new Socket();
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(timeoutMs);
        socket.connect(new InetSocketAddress(SingleNodeBroker.HOST, port), timeoutMs);
        in = new DataInputStream(socket.getInputStream());
        out = new DataOutputStream(socket.getOutputStream());
    }

    /** Drops the connection and makes another, as a client does when the broker has gone. */
    void reconnect() throws IOException {
        socket.close();
        connect();
    }

    /**
     * Sends the request in the newest version that is not marked as unstable, and waits for its answer.
     *
     * @param <T> the response's class, which the request's determines
     */
    public <T extends AbstractResponse> T exchange(AbstractRequest.Builder<?> builder, Class<T> response) throws IOException {
        return exchange(builder, newest(builder.apiKey()), response);
    }

    /** Sends the request in this version, and waits for its answer. */
    public <T extends AbstractResponse> T exchange(AbstractRequest.Builder<?> builder, short version, Class<T> response)
            throws IOException {
        AbstractRequest request = builder.build(version);
        RequestHeader header = new RequestHeader(request.apiKey(), version, clientId, correlationId++);
        ByteBuffer frame = request.serializeWithHeader(header);
        byte[] bytes = new byte[frame.remaining()];
        frame.get(bytes);
        ByteBuffer whole = ByteBuffer.allocate(4 + bytes.length).putInt(bytes.length).put(bytes);
        out.write(whole.array());
        out.flush();
        byte[] answer = in.readNBytes(in.readInt());
        return response.cast(AbstractResponse.parseResponse(ByteBuffer.wrap(answer), header));
    }

    static short newest(ApiKeys api) {
        return api.messageType.highestSupportedVersion(false);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
