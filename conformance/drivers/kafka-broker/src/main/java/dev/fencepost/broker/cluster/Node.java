package dev.fencepost.broker.cluster;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * One node of a {@link Cluster}: a process of its own, so that it can be paused and killed.
 *
 * <p>Between this JVM and the node stands a shell that waits for the end of its standard input and then kills the node. That
 * end comes when the node is to be killed and also when this JVM dies, however it does: a node can't outlive the
 * demonstration, not even one that is paused, which no signal but SIGKILL and SIGCONT reaches.
 */
public final class Node {
    private static final long END_MS = 10_000;
    /** What the shell runs: $1 is where the node's log goes, the rest the node's command. */
    private static final String GUARD = """
            trap : INT TERM HUP
            log=$1
            shift
            "$@" >>"$log" 2>&1 </dev/null &
            node=$!
            echo "$node"
            read -r _
            kill -KILL "$node" 2>/dev/null
            wait "$node"
            """;

    private final String name;
    private final int id;
    private final int port;
    private final Path properties;
    private final Path log;
    private Process guard;
    private long pid;
    private boolean ending;
    private boolean closed;

    Node(String name, int id, int port, Path directory) {
        this.name = name;
        this.id = id;
        this.port = port;
        this.properties = directory.resolve(name + ".properties");
        this.log = directory.resolve(name + ".log");
    }

    /** The name by which a demonstration calls it. */
    public String name() {
        return name;
    }

    /** Its node id. */
    public int id() {
        return id;
    }

    /** The port of loopback on which it listens. */
    public int port() {
        return port;
    }

    Path properties() {
        return properties;
    }

    /** Starts its process; what it wrote before is still there. */
    public synchronized void start() throws IOException {
        if (closed) {
            throw new IllegalStateException("interrupted before " + name + " was up");
        }
        List<String> command = new ArrayList<>(List.of("sh", "-c", GUARD, "guard", log.toString()));
        command.addAll(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
                "-cp", System.getProperty("java.class.path"), "kafka.Kafka", properties.toString()));
        guard = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String said = new BufferedReader(new InputStreamReader(guard.getInputStream(), StandardCharsets.UTF_8)).readLine();
        if (said == null) {
            throw new IOException("no process for " + name);
        }
        pid = Long.parseLong(said);
        ending = false;
    }

    /** Stops it where it stands (SIGSTOP): it keeps its connections and what has arrived on them, and does nothing. */
    public void pause() throws IOException, InterruptedException {
        signal("STOP");
    }

    /** Lets it go on (SIGCONT). */
    public void resume() throws IOException, InterruptedException {
        signal("CONT");
    }

    /** Asks it to shut down in its own way (SIGTERM): a broker hands its leaderships over first. Does not wait. */
    public synchronized void terminate() throws IOException, InterruptedException {
        ending = true;
        signal("TERM");
    }

    /** Kills it (SIGKILL), paused or not, and waits until it is gone. What it wrote to its log stays. */
    public synchronized void kill() throws IOException, InterruptedException {
        if (guard == null) {
            return;
        }
        guard.getOutputStream().close();
        if (!guard.waitFor(END_MS, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException(name + " is not gone " + END_MS + " ms after it was killed");
        }
        guard = null;
    }

    /** Kills it for good, without waiting. */
    synchronized void close() {
        closed = true;
        if (guard == null) {
            return;
        }
        // The guard does it, too, but may itself have been killed.
        guard.descendants().forEach(ProcessHandle::destroyForcibly);
        try {
            guard.getOutputStream().close();
            guard.waitFor(END_MS, TimeUnit.MILLISECONDS);
        } catch (IOException gone) {
            // Then there is nobody to tell.
        } catch (InterruptedException hurried) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether its process is there and is to stay; one that is paused is. */
    public synchronized boolean isRunning() {
        return isThere() && !ending;
    }

    private boolean isThere() {
        return guard != null && ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
    }

    /** The last line of its log that has all of this in it. */
    public Optional<String> said(List<String> parts) throws IOException {
        try (var lines = Files.lines(log)) {
            return lines.filter(line -> parts.stream().allMatch(line::contains)).reduce((first, second) -> second);
        }
    }

    private synchronized void signal(String signal) throws IOException, InterruptedException {
        if (!isThere()) {
            return;
        }
        // The shell's own `kill`: not every machine has one in a file.
        int status = new ProcessBuilder("sh", "-c", "kill -" + signal + " " + pid)
                .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor();
        if (status != 0) {
            throw new IOException("SIG" + signal + " did not reach " + name);
        }
    }
}
