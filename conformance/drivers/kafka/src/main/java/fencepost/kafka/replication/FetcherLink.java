package fencepost.kafka.replication;

import fencepost.kafka.KafkaRelease;
import java.io.IOException;
import java.util.Optional;
import kafka.server.AbstractFetcherThread;
import kafka.server.BlockingSend;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.internals.PartitionStates;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.server.PartitionFetchState;
import org.apache.kafka.server.network.BrokerEndPoint;

/**
 * A fetcher of Kafka's and its connection to one leader, made to go step by step.
 *
 * <p>{@code AbstractFetcherThread#doWork} is called in a thread of the link's own, which stands still wherever the fetcher
 * sends a request, until the trace answers it or fails it. Only one of the two threads, that one and the driver's, ever runs.
 */
final class FetcherLink implements BlockingSend {
    private static final int PATIENCE_MS = 20_000;

    private enum State { IDLE, RUNNING, WAITING, CLOSED }

    private final BrokerEndPoint leader;
    private AbstractFetcherThread fetcher;
    private Thread thread;
    private State state = State.IDLE;
    private AbstractRequest request;
    private ClientResponse response;
    private Throwable fault;
    /** What the driver calls the request that is outstanding. */
    private String label;

    FetcherLink(BrokerEndPoint leader) {
        this.leader = leader;
    }

    void attach(AbstractFetcherThread attached) {
        fetcher = attached;
    }

    AbstractFetcherThread fetcher() {
        return fetcher;
    }

    int leaderId() {
        return leader.id();
    }

    /** The request that waits for its answer; null where none does. */
    synchronized AbstractRequest outstanding() {
        return state == State.WAITING ? request : null;
    }

    /** The outstanding request's name; null where there is none, or it has none yet. */
    String label() {
        return outstanding() == null ? null : label;
    }

    void setLabel(String name) {
        label = name;
    }

    /** Whether the fetcher has the partition, sent nothing, and need not wait. */
    boolean isReady() {
        return entry().filter(entry -> entry.delay().isEmpty()).isPresent();
    }

    /** Whether the partition would have to be fetched by this link, if it were not for a delay. */
    boolean isDelayed() {
        return entry().filter(entry -> entry.delay().isPresent()).isPresent();
    }

    private Optional<PartitionFetchState> entry() {
        if (outstanding() != null) {
            return Optional.empty();
        }
        scala.Option<PartitionFetchState> found = fetcher.fetchState(Topic.PARTITION);
        return found.isDefined() ? Optional.of(found.get()) : Optional.empty();
    }

    /** The delay after an error is over ({@code null}), or begins. */
    void setDelay(Long delayMs) {
        entry().ifPresent(entry -> states().update(Topic.PARTITION, new PartitionFetchState(entry.topicId(), entry.fetchOffset(),
            entry.lag(), entry.currentLeaderEpoch(), Optional.ofNullable(delayMs), entry.state(), entry.lastFetchedEpoch())));
    }

    /** The fetch goes on from here, or has nothing else to truncate to. */
    void setFetchOffset(long offset) {
        entry().ifPresent(entry -> states().update(Topic.PARTITION, new PartitionFetchState(entry.topicId(), offset,
            entry.lag(), entry.currentLeaderEpoch(), entry.delay(), entry.state(), entry.lastFetchedEpoch())));
    }

    @SuppressWarnings("unchecked")
    private PartitionStates<PartitionFetchState> states() {
        return (PartitionStates<PartitionFetchState>) KafkaRelease.peek(fetcher, "partitionStates");
    }

    /** One round of the fetcher, up to the request that it sends or, where it sends none, to its end. */
    synchronized void run() {
        if (thread == null) {
            thread = new Thread(this::work, "fetcher of " + leader);
            thread.setDaemon(true);
            thread.start();
        }
        goOn();
    }

    /** The outstanding request is answered; the round goes on, up to the next request or to its end. */
    synchronized void answer(AbstractResponse body) {
        ApiKeys api = request.apiKey();
        response = new ClientResponse(new RequestHeader(api, request.version(), "fetcher", 0), null, leader.toString(), 0, 0,
            false, null, null, body);
        goOn();
    }

    /** The connection is lost under the outstanding request; the round goes on. */
    synchronized void fail() {
        response = null;
        goOn();
    }

    /** The process dies, or the trace is over: nothing that the fetcher still does is waited for. */
    synchronized void cut() {
        state = State.CLOSED;
        notifyAll();
    }

    private void goOn() {
        state = State.RUNNING;
        notifyAll();
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        try {
            while (state == State.RUNNING) {
                wait(PATIENCE_MS);
                if (state == State.RUNNING && System.currentTimeMillis() > deadline) {
                    IllegalStateException stuck = new IllegalStateException("the fetcher came to no end");
                    stuck.setStackTrace(thread.getStackTrace());
                    throw stuck;
                }
            }
        } catch (InterruptedException unexpected) {
            throw new IllegalStateException(unexpected);
        }
        if (fault != null) {
            throw new IllegalStateException("the fetcher failed", fault);
        }
    }

    private void work() {
        while (await(State.RUNNING)) {
            Throwable thrown = null;
            try {
                fetcher.doWork();
            } catch (Throwable failure) {
                thrown = failure;
            }
            synchronized (this) {
                fault = thrown;
                pass(State.IDLE);
            }
        }
    }

    @Override
    public BrokerEndPoint brokerEndPoint() {
        return leader;
    }

    @Override
    public synchronized ClientResponse sendRequest(AbstractRequest.Builder<? extends AbstractRequest> builder) {
        if (state == State.CLOSED) {
            throw FetcherLink.<RuntimeException>sneaky(new IOException("closed"));
        }
        request = builder.build(builder.latestAllowedVersion());
        label = null;
        pass(State.WAITING);
        if (!await(State.RUNNING) || response == null) {
            throw FetcherLink.<RuntimeException>sneaky(new IOException("the connection to " + leader + " was lost"));
        }
        return response;
    }

    private synchronized boolean await(State wanted) {
        try {
            while (state != wanted) {
                if (state == State.CLOSED) {
                    return false;
                }
                wait();
            }
            return true;
        } catch (InterruptedException unexpected) {
            return false;
        }
    }

    private void pass(State next) {
        if (state != State.CLOSED) {
            state = next;
            notifyAll();
        }
    }

    /** Kafka's own sender, in Scala, throws checked exceptions that this interface does not declare. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> T sneaky(Throwable thrown) throws T {
        throw (T) thrown;
    }

    @Override
    public void initiateClose() {
    }

    @Override
    public void close() {
    }
}
