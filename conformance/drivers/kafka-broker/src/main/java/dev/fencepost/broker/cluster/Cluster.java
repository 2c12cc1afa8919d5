package dev.fencepost.broker.cluster;

import dev.fencepost.broker.Removal;
import dev.fencepost.broker.SingleNodeBroker;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;

/**
 * A real Apache Kafka cluster for one demonstration: a controller and the brokers A, B and C (nodes 1, 2, 3), each a process
 * on a free port of 127.0.0.1, with their files in a new temporary directory. All settings are Kafka's defaults, except that
 * no leader is moved unasked ({@code auto.leader.rebalance.enable}), so that a run knows when one is.
 *
 * <p>{@link #close} kills the nodes and removes the directory, and so does a shutdown hook (SIGTERM, SIGINT). After a
 * SIGKILL the nodes die as well ({@link Node}), and only the directory {@code fencepost-kafka-cluster-*} stays.
 */
public final class Cluster implements AutoCloseable {
    private static final int CONTROLLER = 100;
    private static final int ATTEMPTS = 3;
    private static final long START_MS = 90_000;

    private final String clusterId = Uuid.randomUuid().toString();
    private final Thread hook = new Thread(this::killAndRemove, "cluster-removal");
    private final Map<String, String> settings;
    private final List<Node> brokers = new ArrayList<>();
    private Path directory;
    private Node controller;
    private boolean removed;

    private Cluster(Map<String, String> settings) {
        this.settings = Map.copyOf(settings);
    }

    /**
     * Formats new directories and starts the four nodes on them.
     *
     * @param settings settings of the brokers beyond those that make them a cluster on loopback
     */
    public static Cluster start(Map<String, String> settings) throws Exception {
        for (int attempt = 1;; attempt++) {
            Cluster cluster = new Cluster(settings);
            Runtime.getRuntime().addShutdownHook(cluster.hook);
            try {
                cluster.makeDirectory();
                cluster.format();
                cluster.startStopped();
                return cluster;
            } catch (NodeEnded taken) {
                // Between choosing the ports and listening on them, another process can have taken one.
                cluster.close();
                if (attempt == ATTEMPTS) {
                    throw taken;
                }
            } catch (Exception | Error failure) {
                cluster.close();
                throw failure;
            }
        }
    }

    /** A node whose process ended while the others were waited for. */
    private static final class NodeEnded extends Exception {
        private static final long serialVersionUID = 1;

        NodeEnded(String name) {
            super(name + " ended while it was starting");
        }
    }

    public Node a() {
        return brokers.get(0);
    }

    public Node b() {
        return brokers.get(1);
    }

    public Node c() {
        return brokers.get(2);
    }

    /** The addresses of the brokers, for clients. */
    public String bootstrapServers() {
        return brokers.stream().map(broker -> SingleNodeBroker.HOST + ":" + broker.port()).collect(Collectors.joining(","));
    }

    /** Lets go on who is paused, starts who is not there, and waits until each broker knows all of them as alive. */
    public void startStopped() throws Exception {
        List<Node> nodes = new ArrayList<>(brokers);
        nodes.add(controller);
        for (Node node : nodes) {
            node.resume();
            if (!node.isRunning()) {
                node.kill();
                node.start();
            }
        }
        long deadline = System.nanoTime() + START_MS * 1_000_000;
        for (Node broker : brokers) {
            while (!knowsAll(broker)) {
                for (Node node : nodes) {
                    if (!node.isRunning()) {
                        throw new NodeEnded(node.name());
                    }
                }
                if (System.nanoTime() - deadline > 0) {
                    throw new TimeoutException("the brokers were not up within " + START_MS + " ms");
                }
                Thread.sleep(200);
            }
        }
    }

    /** Also refuses a stranger that took the port. */
    private boolean knowsAll(Node broker) {
        try {
            BrokerView.Members members = BrokerView.of(broker).members();
            return members.clusterId().equals(clusterId) && members.alive().size() == brokers.size();
        } catch (IOException notYet) {
            return false;
        }
    }

    private synchronized void makeDirectory() throws IOException {
        if (removed) {
            throw new IllegalStateException("interrupted before the cluster was up");
        }
        directory = Files.createTempDirectory("fencepost-kafka-cluster-");
    }

    private void format() throws IOException {
        try (ServerSocket first = freePort(); ServerSocket second = freePort(); ServerSocket third = freePort();
                ServerSocket fourth = freePort()) {
            controller = new Node("controller", CONTROLLER, first.getLocalPort(), directory);
            brokers.add(new Node("A", 1, second.getLocalPort(), directory));
            brokers.add(new Node("B", 2, third.getLocalPort(), directory));
            brokers.add(new Node("C", 3, fourth.getLocalPort(), directory));
        }
        format(controller, Map.of(
                "process.roles", "controller",
                "listeners", "CONTROLLER://" + SingleNodeBroker.HOST + ":" + controller.port(),
                "auto.leader.rebalance.enable", "false"));
        for (Node broker : brokers) {
            Map<String, String> own = new TreeMap<>(settings);
            own.put("process.roles", "broker");
            own.put("listeners", "PLAINTEXT://" + SingleNodeBroker.HOST + ":" + broker.port());
            format(broker, own);
        }
    }

    private static ServerSocket freePort() throws IOException {
        return new ServerSocket(0, 1, InetAddress.getByName(SingleNodeBroker.HOST));
    }

    private void format(Node node, Map<String, String> own) throws IOException {
        Map<String, String> all = new TreeMap<>(own);
        all.putAll(Map.of(
                "node.id", Integer.toString(node.id()),
                "controller.quorum.voters", CONTROLLER + "@" + SingleNodeBroker.HOST + ":" + controller.port(),
                "controller.listener.names", "CONTROLLER",
                "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "log.dirs", directory.resolve(node.name()).toString()));
        Files.writeString(node.properties(), all.entrySet().stream()
                .map(entry -> entry.getKey() + "=" + entry.getValue() + "\n").collect(Collectors.joining()));
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        String[] arguments = {"format", "-t", clusterId, "-c", node.properties().toString()};
        int status = StorageTool.execute(arguments, new PrintStream(said, true, StandardCharsets.UTF_8));
        if (status != 0) {
            throw new IllegalStateException("formatting failed: " + said.toString(StandardCharsets.UTF_8));
        }
    }

    @Override
    public void close() {
        killAndRemove();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException shuttingDown) {
            // The hook runs, or has run, and found nothing left to do.
        }
    }

    private void killAndRemove() {
        synchronized (this) {
            removed = true;
        }
        List<Node> nodes = new ArrayList<>(brokers);
        if (controller != null) {
            nodes.add(controller);
        }
        nodes.forEach(Node::close);
        if (directory != null) {
            Removal.remove(directory);
        }
    }
}
