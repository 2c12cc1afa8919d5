package fencepost.kafka.compaction;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.ManualClock;
import fencepost.kafka.Outcome;
import fencepost.kafka.Reply;
import fencepost.kafka.Skipped;
import fencepost.kafka.Trace;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.UnexpectedAppendOffsetException;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/**
 * One trace of the protocol {@code compaction} on Kafka's log: what each operation does.
 *
 * <p>The operations are those of fencepost's vocabulary, in its JSON form; docs/compaction.md says what each is.
 */
public final class CompactionTrace implements Trace {
    private static final int A_DAY_MS = 24 * 60 * 60 * 1000;
    private static final String ONLY = "only";
    /** A follower drops batches of a newer epoch than that of the leader from whom it asked for them. */
    private static final int ANY_LEADER_EPOCH = Integer.MAX_VALUE;

    private final ManualClock clock = new ManualClock();
    private final Producers producers = new Producers();
    private final TopicSettings settings;
    private final int transactionProtocol;
    /** The first is the leader. */
    private final Map<String, Replica> replicas = new LinkedHashMap<>();

    /** A trace whose logs lie below a directory. */
    public CompactionTrace(JsonNode configure, Path logs) {
        clock.set(configure.path("now_ms").asLong());
        settings = new TopicSettings(configure);
        transactionProtocol = configure.path("transaction_protocol").asInt();
        int expirationMs = Math.toIntExact(configure.path("producer_expiration_ms").asLong(A_DAY_MS));
        int mapEntries = configure.path("map_entries").asInt();
        if (configure.path("replicas").isArray()) {
            configure.get("replicas").forEach(name -> replicas.put(name.asText(), null));
        } else {
            replicas.put(ONLY, null);
        }
        replicas.replaceAll((name, none) ->
            new Replica(logs.resolve(name), settings.config(), mapEntries, expirationMs, clock));
    }

    @Override
    public ObjectNode observe(String broker) {
        Replica replica = at(broker);
        return LogView.of(replica.log(), producers, replica.checkpoint());
    }

    @Override
    public void close() {
        replicas.values().forEach(Replica::close);
    }

    @Override
    public Outcome step(JsonNode operation, String broker) {
        if (operation.size() != 1 || !operation.isObject()) {
            throw new IllegalArgumentException("an operation is a map of one entry");
        }
        Map.Entry<String, JsonNode> only = operation.fields().next();
        Replica replica = at(broker);
        try {
            Outcome outcome = step(only.getKey(), only.getValue(), replica);
            replica.settle();
            return outcome;
        } catch (RecordValidationException refused) {
            return refusal(refused.invalidException());
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private Outcome step(String name, JsonNode body, Replica replica) throws IOException {
        UnifiedLog log = replica.log();
        switch (name) {
            case "append":
                return append(body, log);
            case "append_bytes":
                return appendBytes(body, log);
            case "end_transaction":
                return endTransaction(body, log);
            case "roll":
                log.roll();
                return Outcome.NOTHING;
            case "high_watermark":
                log.updateHighWatermark(body.asLong());
                return Outcome.NOTHING;
            case "clock_ms":
                clock.set(body.asLong());
                return Outcome.NOTHING;
            case "clean":
                return replica.clean().map(round -> answer(answer()
                    .put("from", round.from()).put("bound", round.bound())
                    .put("cleaned_to", round.cleanedTo()).put("map_entries", round.mapEntries()))).orElse(Outcome.NOTHING);
            case "start_round":
                return replica.startRound().map(round -> answer(answer()
                    .put("from", round.from()).put("bound", round.bound()))).orElse(Outcome.NOTHING);
            case "build_map":
                replica.round().buildMap();
                return answer(answer()
                    .put("cleaned_to", replica.round().cleanedTo()).put("map_entries", replica.round().mapEntries()));
            case "clean_group":
                replica.round().cleanGroup();
                return Outcome.NOTHING;
            case "finish_round":
                replica.finishRound();
                return Outcome.NOTHING;
            case "abort_round":
                replica.round();
                replica.abortRound();
                return Outcome.NOTHING;
            case "crash":
                replica.crash(body);
                return Outcome.NOTHING;
            case "restart":
                replica.restart();
                return Outcome.NOTHING;
            case "lose_checkpoint":
                replica.loseCheckpoint();
                return Outcome.NOTHING;
            case "truncate":
                replica.truncate(body.asLong());
                return Outcome.NOTHING;
            case "delete_records":
                return deleteRecords(body.asLong(), log);
            case "delete_segments":
                log.deleteOldSegments();
                return Outcome.NOTHING;
            case "alter":
                settings.alter(body);
                replicas.values().forEach(each -> each.configure(settings.config()));
                return Outcome.NOTHING;
            case "expire_producers":
                log.removeExpiredProducers(clock.milliseconds());
                return Outcome.NOTHING;
            case "fetch":
                return fetch(log);
            case "read":
                return read(body, log);
            case "look_up_ms":
                return lookUp(body.asLong(), log);
            default:
                throw new Skipped("this driver has no operation `" + name + "`");
        }
    }

    private Outcome append(JsonNode body, UnifiedLog log) {
        long producer = body.hasNonNull("producer")
            ? producers.id(body.get("producer").asText()) : RecordBatch.NO_PRODUCER_ID;
        MemoryRecords batch = Batches.append(body, producer, log.producerStateManager(), clock.milliseconds());
        return appended(() -> log.appendAsLeader(batch, leaderEpoch(log), AppendOrigin.CLIENT));
    }

    private Outcome appendBytes(JsonNode body, UnifiedLog log) {
        MemoryRecords batches = Batches.ofHex(body.path("bytes").asText());
        return appended(body.path("origin").asText().equals("leader")
            ? () -> log.appendAsFollower(batches, ANY_LEADER_EPOCH)
            : () -> log.appendAsLeader(batches, leaderEpoch(log), AppendOrigin.CLIENT));
    }

    private Outcome endTransaction(JsonNode body, UnifiedLog log) {
        long producer = producers.id(body.path("producer").asText());
        MemoryRecords marker = Batches.marker(
            body.path("result").asText(), transactionProtocol, producer, log.producerStateManager(), clock.milliseconds());
        return appended(() -> StorageRelease.appendMarker(log, marker, leaderEpoch(log), transactionProtocol));
    }

    private interface Append {
        LogAppendInfo append() throws IOException;
    }

    private static Outcome appended(Append append) {
        try {
            LogAppendInfo appended = append.append();
            return answer(answer().put("first", appended.firstOffset()).put("last", appended.lastOffset()));
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        } catch (RecordValidationException refused) {
            return refusal(refused.invalidException());
        } catch (RuntimeException refused) {
            return refusal(refused);
        }
    }

    /** As {@code Partition#deleteRecordsOnLeader}: it is the broker that looks at the policy. */
    private static Outcome deleteRecords(long offset, UnifiedLog log) {
        if (!log.config().delete) {
            return refusal(new PolicyViolationException("records of a topic without the policy delete are not deleted"));
        }
        try {
            log.maybeIncrementLogStartOffset(offset, LogStartOffsetIncrementReason.ClientRecordDeletion);
            return Outcome.NOTHING;
        } catch (RuntimeException refused) {
            return refusal(refused);
        }
    }

    /** A follower takes over all that the leader has from its own end on, in as many requests as it takes. */
    private Outcome fetch(UnifiedLog follower) throws IOException {
        UnifiedLog leader = replicas.values().iterator().next().log();
        if (leader == follower) {
            throw new Skipped("the leader fetches from nobody");
        }
        if (follower.logEndOffset() < leader.logStartOffset()) {
            follower.truncateFullyAndStartAt(leader.logStartOffset(), Optional.empty());
        }
        long first = -1;
        while (follower.logEndOffset() < leader.logEndOffset()) {
            Records fetched = leader.read(follower.logEndOffset(), Integer.MAX_VALUE, FetchIsolation.LOG_END, true).records;
            if (fetched.sizeInBytes() == 0) {
                break;
            }
            ByteBuffer copy = ByteBuffer.allocate(fetched.sizeInBytes());
            for (var batch : fetched.batches()) {
                batch.writeTo(copy);
            }
            copy.flip();
            LogAppendInfo appended;
            try {
                appended = follower.appendAsFollower(MemoryRecords.readableRecords(copy), ANY_LEADER_EPOCH);
            } catch (UnexpectedAppendOffsetException diverged) {
                throw new Skipped("the two logs have diverged; there are no leader epochs here that would mend it");
            }
            first = first < 0 ? appended.firstOffset() : first;
        }
        return first < 0 ? Outcome.NOTHING : answer(answer().put("first", first).put("last", follower.logEndOffset() - 1));
    }

    private static Outcome read(JsonNode body, UnifiedLog log) throws IOException {
        ObjectNode answer = answer();
        boolean committedOnly = body.path("isolation").asText().equals("read_committed");
        Consumer consumer = new Consumer(log, committedOnly, body.path("from").asLong(), answer.putArray("records"));
        try {
            if (!body.hasNonNull("batches")) {
                consumer.readAll();
                return answer(answer);
            }
            for (int batch = 0; batch < body.get("batches").asInt(); batch++) {
                consumer.readBatch();
            }
            return answer(answer.put("next", consumer.position()));
        } catch (RuntimeException refused) {
            return refusal(refused);
        }
    }

    /** As {@code Partition#fetchOffsetForTimestamp}: what is not below the high watermark is not found. */
    private static Outcome lookUp(long timestampMs, UnifiedLog log) {
        return log.fetchOffsetByTimestamp(timestampMs, Optional.empty()).timestampAndOffsetOpt()
            .filter(found -> found.offset < log.highWatermark())
            .map(found -> answer(answer().put("first", found.offset).put("timestamp_ms", found.timestamp)))
            .orElse(Outcome.NOTHING);
    }

    /** The newest that the log knows: in the protocol {@code compaction} nobody is elected. */
    private static int leaderEpoch(UnifiedLog log) {
        return log.latestEpoch().orElse(0);
    }

    private Replica at(String broker) {
        Replica replica = broker == null ? replicas.values().iterator().next() : replicas.get(broker);
        if (replica == null) {
            throw new IllegalArgumentException("there is no replica on " + broker);
        }
        return replica;
    }

    private static ObjectNode answer() {
        return JsonNodeFactory.instance.objectNode();
    }

    private static Outcome answer(ObjectNode answer) {
        return Outcome.answered(Reply.of(answer));
    }

    private static Outcome refusal(RuntimeException refused) {
        return Outcome.answered(Reply.ofThrown(refused));
    }
}
