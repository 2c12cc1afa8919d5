package fencepost.kafka.consumer;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.KafkaClient;
import org.apache.kafka.clients.LeastLoadedNode;
import org.apache.kafka.clients.RequestCompletionHandler;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.utils.Time;

/**
 * The network of a consumer: every node is connected, and a request stays under way until the trace answers it or gives it up.
 *
 * <p>What goes to the group's coordinator is answered at once, by {@link Coordinator}: it is no part of a trace.
 *
 * <p>The newer consumer calls this from a thread of its own, hence the locks. It waits in {@link #poll} where it has nothing to
 * do, which is how a step knows that nothing more will happen.
 */
final class ScriptedClient implements KafkaClient {
    /** A sent request, as it would have been on the wire. */
    record Sent(ClientRequest request, AbstractRequest body) {
    }

    private static final int REQUEST_TIMEOUT_MS = 30_000;
    /** The longest that the newer consumer's thread sleeps here; it is woken up where there is something to do. */
    private static final long LONGEST_WAIT_MS = 5;

    private final Time time;
    private final List<Node> nodes;
    private final Coordinator coordinator;
    private final boolean holdsFetched;
    private final Map<Integer, Sent> underWay = new LinkedHashMap<>();
    private final Map<String, Integer> inFlight = new HashMap<>();
    private final List<ClientResponse> ready = new ArrayList<>();
    private final List<ClientResponse> held = new ArrayList<>();
    private final List<Sent> fresh = new ArrayList<>();
    private int correlation;
    private boolean isWoken;
    private long activity;
    private int idlePolls;
    private int idleTimes;
    private Runnable whenIdle;

    /**
     * A network.
     *
     * @param holdsFetched whether the answer to a fetch waits until somebody who polls has nothing else to do. The newer
     *     consumer's thread has then done what the poll asked it for, whichever of the two threads is faster; it may else fetch
     *     again before or after a poll throws what was fetched.
     */
    ScriptedClient(Time time, List<Node> nodes, Coordinator coordinator, boolean holdsFetched) {
        this.time = time;
        this.nodes = nodes;
        this.coordinator = coordinator;
        this.holdsFetched = holdsFetched;
    }

    /** The requests that were sent since this was asked last. */
    synchronized List<Sent> takeSent() {
        List<Sent> taken = List.copyOf(fresh);
        fresh.clear();
        return taken;
    }

    /** How often something was sent or has arrived. */
    synchronized long activity() {
        return activity;
    }

    /** What to do, once, when somebody has looked so often from now on, or since something happened last, and found nothing. */
    synchronized void whenIdle(int times, Runnable what) {
        idleTimes = times;
        idlePolls = 0;
        whenIdle = what;
        isWoken = true;
        notifyAll();
    }

    /** The answer to a request arrives, or its failure where there is none; nothing happens if it is no longer under way. */
    synchronized void complete(int correlationId, AbstractResponse body) {
        Sent sent = underWay.remove(correlationId);
        if (sent != null) {
            (holdsFetched && sent.body().apiKey() == ApiKeys.FETCH ? held : ready).add(response(sent, body));
            changed();
        }
    }

    /** What is held goes on. */
    synchronized void release() {
        if (!held.isEmpty()) {
            ready.addAll(held);
            held.clear();
            changed();
        }
    }

    synchronized boolean isHolding() {
        return !held.isEmpty();
    }

    /** The request, while it is under way. */
    synchronized Optional<Sent> underWay(int correlationId) {
        return Optional.ofNullable(underWay.get(correlationId));
    }

    /** All that is under way fails. */
    synchronized void failAll() {
        List.copyOf(underWay.keySet()).forEach(id -> complete(id, null));
        fresh.clear();
    }

    private ClientResponse response(Sent sent, AbstractResponse body) {
        ClientRequest request = sent.request();
        return new ClientResponse(request.makeHeader(sent.body().version()), request.callback(), request.destination(),
            request.createdTimeMs(), time.milliseconds(), body == null, null, null, body);
    }

    private void changed() {
        activity++;
        idlePolls = 0;
        notifyAll();
    }

    @Override
    public synchronized void send(ClientRequest request, long now) {
        AbstractRequest.Builder<?> builder = request.requestBuilder();
        Sent sent = new Sent(request, builder.build(builder.latestAllowedVersion()));
        inFlight.merge(request.destination(), 1, Integer::sum);
        changed();
        Optional<AbstractResponse> answer = coordinator.answer(sent.body());
        if (answer.isPresent()) {
            ready.add(response(sent, answer.get()));
            return;
        }
        underWay.put(request.correlationId(), sent);
        fresh.add(sent);
    }

    @Override
    public List<ClientResponse> poll(long timeoutMs, long now) {
        List<ClientResponse> arrived = take(timeoutMs);
        arrived.forEach(ClientResponse::onComplete);
        Runnable idle = takeIdle();
        if (idle != null) {
            idle.run();
        }
        return arrived;
    }

    private synchronized Runnable takeIdle() {
        if (whenIdle == null || idlePolls < idleTimes) {
            return null;
        }
        Runnable idle = whenIdle;
        whenIdle = null;
        return idle;
    }

    private synchronized List<ClientResponse> take(long timeoutMs) {
        if (ready.isEmpty()) {
            idlePolls++;
            if (timeoutMs > 0 && !isWoken) {
                try {
                    wait(Math.min(timeoutMs, LONGEST_WAIT_MS));
                } catch (InterruptedException problem) {
                    Thread.currentThread().interrupt();
                }
            }
        }
        isWoken = false;
        List<ClientResponse> arrived = List.copyOf(ready);
        ready.clear();
        arrived.forEach(response -> inFlight.merge(response.destination(), -1, Integer::sum));
        if (!arrived.isEmpty()) {
            changed();
        }
        return arrived;
    }

    @Override
    public synchronized void wakeup() {
        isWoken = true;
        notifyAll();
    }

    @Override
    public boolean isReady(Node node, long now) {
        return true;
    }

    @Override
    public boolean ready(Node node, long now) {
        return true;
    }

    @Override
    public long connectionDelay(Node node, long now) {
        return 0;
    }

    @Override
    public long pollDelayMs(Node node, long now) {
        return 0;
    }

    @Override
    public boolean connectionFailed(Node node) {
        return false;
    }

    @Override
    public AuthenticationException authenticationException(Node node) {
        return null;
    }

    @Override
    public void disconnect(String nodeId) {
    }

    @Override
    public void close(String nodeId) {
    }

    @Override
    public LeastLoadedNode leastLoadedNode(long now) {
        return new LeastLoadedNode(nodes.get(0), true);
    }

    @Override
    public synchronized int inFlightRequestCount() {
        return inFlight.values().stream().mapToInt(Integer::intValue).sum();
    }

    @Override
    public boolean hasInFlightRequests() {
        return inFlightRequestCount() > 0;
    }

    @Override
    public synchronized int inFlightRequestCount(String nodeId) {
        return inFlight.getOrDefault(nodeId, 0);
    }

    @Override
    public boolean hasInFlightRequests(String nodeId) {
        return inFlightRequestCount(nodeId) > 0;
    }

    @Override
    public boolean hasReadyNodes(long now) {
        return true;
    }

    @Override
    public ClientRequest newClientRequest(
        String nodeId, AbstractRequest.Builder<?> builder, long createdTimeMs, boolean expectResponse
    ) {
        return newClientRequest(nodeId, builder, createdTimeMs, expectResponse, REQUEST_TIMEOUT_MS, null);
    }

    @Override
    public synchronized ClientRequest newClientRequest(
        String nodeId, AbstractRequest.Builder<?> builder, long createdTimeMs, boolean expectResponse, int requestTimeoutMs,
        RequestCompletionHandler callback
    ) {
        return new ClientRequest(
            nodeId, builder, correlation++, "consumer", createdTimeMs, expectResponse, requestTimeoutMs, callback);
    }

    @Override
    public void initiateClose() {
    }

    @Override
    public boolean active() {
        return true;
    }

    @Override
    public void close() {
    }
}
