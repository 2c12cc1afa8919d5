package dev.fencepost.broker.demo;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.fencepost.broker.SingleNodeBroker;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class DelayingProxyTest {
    /** Frames that are no requests of Kafka's that it knows, back and forth. */
    @Test
    void bytes_arrive_as_they_were_sent_in_both_directions() {
        assertTimeoutPreemptively(Duration.ofSeconds(20), () -> {
            try (ServerSocket broker = new ServerSocket(0, 1, InetAddress.getByName(SingleNodeBroker.HOST));
                    DelayingProxy proxy = new DelayingProxy()) {
                proxy.use(new FrameGate(1));
                proxy.start(broker::getLocalPort);
                try (Socket client = new Socket(SingleNodeBroker.HOST, proxy.port()); Socket server = broker.accept()) {
                    byte[] request = {0, 3, 0, 12, 1, 2, -1};
                    byte[] answer = {9, 8, -7};
                    DataOutputStream sending = new DataOutputStream(client.getOutputStream());
                    sending.writeInt(request.length);
                    sending.write(request);
                    DataInputStream arriving = new DataInputStream(server.getInputStream());
                    assertArrayEquals(request, arriving.readNBytes(arriving.readInt()));
                    server.getOutputStream().write(answer);
                    assertArrayEquals(answer, client.getInputStream().readNBytes(answer.length));
                }
            }
        });
    }
}
