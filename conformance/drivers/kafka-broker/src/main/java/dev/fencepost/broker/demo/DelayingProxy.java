package dev.fencepost.broker.demo;

import dev.fencepost.broker.SingleNodeBroker;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Collection;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.IntSupplier;

/**
 * A proxy on loopback between one client and the broker. It passes every byte on as it came; requests only wait at a
 * {@link FrameGate} first. Answers are not even looked at.
 */
final class DelayingProxy implements AutoCloseable {
    private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getByName(SingleNodeBroker.HOST));
    private final Collection<Socket> sockets = new ConcurrentLinkedQueue<>();
    private volatile FrameGate gate;

    DelayingProxy() throws IOException {}

    int port() {
        return listening.getLocalPort();
    }

    /** From now on, requests wait at this gate; also those of connections that are already there. */
    void use(FrameGate next) {
        gate = next;
    }

    /** Begins to pass connections on to this port. */
    void start(IntSupplier brokerPort) {
        thread("accept", () -> {
            while (true) {
                Socket client = listening.accept();
                Socket broker = new Socket(SingleNodeBroker.HOST, brokerPort.getAsInt());
                sockets.add(client);
                sockets.add(broker);
                client.setTcpNoDelay(true);
                broker.setTcpNoDelay(true);
                thread("requests", () -> passRequests(client, broker));
                thread("answers", () -> passAnswers(broker, client));
            }
        });
    }

    private void passRequests(Socket client, Socket broker) throws IOException, InterruptedException {
        try (client; broker) {
            DataInputStream in = new DataInputStream(client.getInputStream());
            DataOutputStream out = new DataOutputStream(broker.getOutputStream());
            while (true) {
                byte[] frame = new byte[in.readInt()];
                in.readFully(frame);
                gate.pass(frame);
                out.writeInt(frame.length);
                out.write(frame);
                out.flush();
            }
        }
    }

    private static void passAnswers(Socket broker, Socket client) throws IOException {
        try (broker; client) {
            broker.getInputStream().transferTo(client.getOutputStream());
        }
    }

    private interface Pump {
        void run() throws IOException, InterruptedException;
    }

    private static void thread(String name, Pump pump) {
        Thread thread = new Thread(() -> {
            try {
                pump.run();
            } catch (IOException | InterruptedException closed) {
                // The other side of a connection learns of it by its own end.
            }
        }, "proxy-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        listening.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
