package dev.fencepost.broker;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.server.SharedServer;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.common.utils.Time;

/**
 * A real Apache Kafka broker for one process's own use: one node that is broker and controller (KRaft), in this JVM, on
 * two free ports of 127.0.0.1, with its files in a new temporary directory.
 *
 * <p>It lives in this JVM so that it can't outlive it. {@link #close} stops it and removes the directory, and so does a
 * shutdown hook (SIGTERM, SIGINT); only a SIGKILL leaves the directory behind. Whoever talks to it goes through its
 * ports; of what is in the process only one number is read, see {@link #awaitMetadata}.
 */
public final class SingleNodeBroker implements AutoCloseable {
    /** Loopback; the broker listens nowhere else. */
    public static final String HOST = "127.0.0.1";
    private static final int ATTEMPTS = 3;
    private static final long STOP_MS = 5_000;
    private static final long METADATA_MS = 30_000;

    private final OptionalInt proxy;
    private final String clusterId = Uuid.randomUuid().toString();
    private final Map<String, String> settings;
    private final Thread hook = new Thread(this::stopAndRemove, "broker-removal");
    private Path directory;
    private int port;
    private int proxiedPort;
    private KafkaRaftServer server;
    private SharedServer shared;
    private boolean removed;

    private SingleNodeBroker(Map<String, String> settings, OptionalInt proxy) {
        this.settings = new HashMap<>(settings);
        this.proxy = proxy;
    }

    /**
     * Formats a new directory and starts a broker on it.
     *
     * @param settings broker settings beyond those that make it a single node on loopback
     */
    public static SingleNodeBroker start(Map<String, String> settings) throws Exception {
        return start(new SingleNodeBroker(settings, OptionalInt.empty()));
    }

    /**
     * The same, with a second listener for clients that come through a proxy: they are told the proxy's port, so that they
     * keep coming through it, and the proxy passes them on to {@link #proxiedPort}.
     */
    public static SingleNodeBroker startBehind(int proxyPort, Map<String, String> settings) throws Exception {
        return start(new SingleNodeBroker(settings, OptionalInt.of(proxyPort)));
    }

    private static SingleNodeBroker start(SingleNodeBroker broker) throws Exception {
        Runtime.getRuntime().addShutdownHook(broker.hook);
        // Kafka ends the JVM on what it can't recover from, and halting runs no hook.
        Exit.setHaltProcedure((status, message) -> {
            if (!broker.isRemoved()) {
                System.err.println("the broker gave up: " + message);
            }
            broker.removeDirectory();
            Runtime.getRuntime().halt(status == 0 ? 1 : status);
        });
        try {
            broker.makeDirectory();
            broker.formatAndStart();
            broker.checkClusterId();
            return broker;
        } catch (Exception | Error failure) {
            broker.close();
            throw failure;
        }
    }

    /** The address of the broker, for clients: {@code 127.0.0.1:PORT}. */
    public String bootstrapServers() {
        return HOST + ":" + port;
    }

    public int port() {
        return port;
    }

    /** Where the proxy finds the broker. */
    public int proxiedPort() {
        return proxiedPort;
    }

    public String clusterId() {
        return clusterId;
    }

    Path directory() {
        return directory;
    }

    /** Stops the broker and starts it again on the same directory and ports, which loads its coordinators from their logs. */
    public void restart() throws Exception {
        stop();
        launch();
        checkClusterId();
    }

    /**
     * Waits until the broker has applied all metadata that the controller has committed by now.
     *
     * <p>The order that makes this enough: the metadata loader counts an offset as applied after all its publishers
     * returned ({@code MetadataLoader#maybePublishMetadata}); one of them puts the new image at the end of the queue of
     * each group coordinator's partition; a heartbeat that is sent later stands behind it in that queue.
     */
    public void awaitMetadata() throws TimeoutException {
        OptionalLong committed = shared.raftManager().client().highWatermark();
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(METADATA_MS);
        while (shared.loader().lastAppliedOffset() < committed.orElse(0) - 1) {
            if (System.nanoTime() - deadline > 0) {
                throw new TimeoutException("the broker did not apply its metadata within " + METADATA_MS + " ms");
            }
            LockSupport.parkNanos(100_000);
        }
    }

    @Override
    public void close() {
        stopAndRemove();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException shuttingDown) {
            // The hook runs, or has run, and found nothing left to do.
        }
    }

    /** Only once the hook is there that removes it, and not any more if the hook has run. */
    private synchronized void makeDirectory() throws IOException {
        failIfRemoved();
        directory = Files.createTempDirectory("fencepost-kafka-broker-");
    }

    private synchronized boolean isRemoved() {
        return removed;
    }

    private void failIfRemoved() {
        if (removed) {
            throw new IllegalStateException("interrupted before the broker was up");
        }
    }

    private void formatAndStart() throws Exception {
        for (int attempt = 1;; attempt++) {
            writeProperties();
            if (attempt == 1) {
                format();
            }
            try {
                launch();
                return;
            } catch (Exception taken) {
                // Between choosing the ports and listening on them, another process can have taken one.
                stop();
                if (attempt == ATTEMPTS) {
                    throw taken;
                }
            }
        }
    }

    private void writeProperties() throws IOException {
        int controller;
        try (ServerSocket first = freePort(); ServerSocket second = freePort(); ServerSocket third = freePort()) {
            port = first.getLocalPort();
            proxiedPort = second.getLocalPort();
            controller = third.getLocalPort();
        }
        String listeners = "PLAINTEXT://" + HOST + ":" + port;
        String advertised = listeners;
        if (proxy.isPresent()) {
            listeners += ",PROXIED://" + HOST + ":" + proxiedPort;
            advertised += ",PROXIED://" + HOST + ":" + proxy.getAsInt();
        }
        Map<String, String> all = new HashMap<>(Map.of(
                "process.roles", "broker,controller",
                "node.id", "1",
                "controller.quorum.voters", "1@" + HOST + ":" + controller,
                "listeners", listeners + ",CONTROLLER://" + HOST + ":" + controller,
                "advertised.listeners", advertised,
                "controller.listener.names", "CONTROLLER",
                "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "log.dirs", directory.resolve("log").toString()));
        all.putAll(Map.of(
                "offsets.topic.num.partitions", "1",
                "offsets.topic.replication.factor", "1",
                "transaction.state.log.num.partitions", "1",
                "transaction.state.log.replication.factor", "1",
                "transaction.state.log.min.isr", "1",
                "auto.create.topics.enable", "false",
                "log.cleaner.dedupe.buffer.size", "4194304"));
        all.putAll(settings);
        Files.writeString(propertiesFile(), all.entrySet().stream()
                .map(entry -> entry.getKey() + "=" + entry.getValue() + "\n").sorted().collect(Collectors.joining()));
    }

    private static ServerSocket freePort() throws IOException {
        return new ServerSocket(0, 1, InetAddress.getByName(HOST));
    }

    private Path propertiesFile() {
        return directory.resolve("server.properties");
    }

    private void format() {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        String[] arguments = {"format", "-t", clusterId, "-c", propertiesFile().toString()};
        int status = StorageTool.execute(arguments, new PrintStream(said, true, StandardCharsets.UTF_8));
        if (status != 0) {
            throw new IllegalStateException("formatting failed: " + said.toString(StandardCharsets.UTF_8));
        }
    }

    private void launch() throws Exception {
        Properties properties = new Properties();
        try (var reader = Files.newBufferedReader(propertiesFile())) {
            properties.load(reader);
        }
        KafkaRaftServer starting = new KafkaRaftServer(KafkaConfig.fromProps(properties, false), Time.SYSTEM);
        synchronized (this) {
            failIfRemoved();
            server = starting;
        }
        Field field = KafkaRaftServer.class.getDeclaredField("sharedServer");
        field.setAccessible(true);
        shared = (SharedServer) field.get(starting);
        starting.startup();
    }

    /** Refuses to go on with a broker that is not the one that was formatted here. */
    private void checkClusterId() throws Exception {
        try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrapServers()))) {
            String found = admin.describeCluster().clusterId().get(30, TimeUnit.SECONDS);
            if (!clusterId.equals(found)) {
                throw new IllegalStateException(
                        "the broker at " + bootstrapServers() + " is of cluster " + found + ", not of ours, " + clusterId);
            }
        }
    }

    /** Stops the broker in its own way, but waits only so long: nothing of it is worth keeping. */
    private void stop() throws InterruptedException {
        KafkaRaftServer stopping;
        synchronized (this) {
            stopping = server;
            server = null;
        }
        if (stopping == null) {
            return;
        }
        Thread thread = new Thread(() -> {
            stopping.shutdown();
            stopping.awaitShutdown();
        }, "broker-stop");
        thread.setDaemon(true);
        thread.start();
        thread.join(STOP_MS);
    }

    private void stopAndRemove() {
        synchronized (this) {
            removed = true;
        }
        try {
            stop();
        } catch (InterruptedException hurried) {
            Thread.currentThread().interrupt();
        }
        removeDirectory();
    }

    private void removeDirectory() {
        if (directory != null) {
            Removal.remove(directory);
        }
    }
}
