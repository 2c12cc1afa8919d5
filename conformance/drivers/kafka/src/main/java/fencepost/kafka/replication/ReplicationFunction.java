package fencepost.kafka.replication;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.kafka.InlineScheduler;
import fencepost.kafka.Reply;
import fencepost.kafka.Skipped;
import fencepost.kafka.compaction.LogFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.controller.ControllerDecision;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/**
 * A function trace of replication: one decision, made by the method of Kafka's that makes it.
 *
 * <p>Those about epochs are {@code LeaderEpochFileCache}'s, those of a leader or a follower are made by a broker that is
 * brought to what is given ({@link PartitionDecision}), the controller's by its own classes ({@link ControllerDecision}).
 */
public final class ReplicationFunction {
    private ReplicationFunction() {
    }

    /**
     * Makes the decision.
     *
     * @param logs the directory below which a log is kept meanwhile
     * @return the outcome in place of an answer
     */
    public static Reply decide(JsonNode given, JsonNode call, Path logs) {
        if (!call.isObject() || call.size() != 1) {
            throw new IllegalArgumentException("a call is a map of one entry");
        }
        Map.Entry<String, JsonNode> only = call.fields().next();
        JsonNode body = only.getValue();
        try {
            return switch (only.getKey()) {
                case "end_offset_for_epoch" -> withCache(given, logs, cache -> {
                    Map.Entry<Integer, Long> end =
                        cache.endOffsetFor(body.path("epoch").asInt(), given.path("log_end").asLong());
                    ObjectNode outcome = outcome();
                    outcome.putObject("epoch_end").put("epoch", end.getKey()).put("end_offset", end.getValue());
                    return outcome;
                });
                case "assign_epoch" -> withCache(given, logs, cache -> {
                    cache.assign(body.path("epoch").asInt(), body.path("offset").asLong());
                    return epochs(cache);
                });
                case "truncate_epochs_from_end" -> withCache(given, logs, cache -> {
                    cache.truncateFromEndAsyncFlush(body.path("offset").asLong());
                    return epochs(cache);
                });
                case "truncate_epochs_from_start" -> withCache(given, logs, cache -> {
                    cache.truncateFromStartAsyncFlush(body.path("offset").asLong());
                    return epochs(cache);
                });
                case "alter_partition" -> ControllerDecision.alterPartition(given, body);
                case "elect" -> ControllerDecision.elect(given, body);
                default -> PartitionDecision.decide(given, only.getKey(), body, logs);
            };
        } catch (ApiException refused) {
            return Reply.ofThrown(refused);
        }
    }

    private interface OnCache {
        ObjectNode call(LeaderEpochFileCache cache);
    }

    private static Reply withCache(JsonNode given, Path logs, OnCache function) {
        Path directory = logs.resolve("epochs");
        LogFiles.deleteAll(directory);
        try {
            Files.createDirectories(directory);
            LeaderEpochFileCache cache = new LeaderEpochFileCache(Topic.PARTITION,
                new LeaderEpochCheckpointFile(LeaderEpochCheckpointFile.newFile(directory.toFile()),
                    new LogDirFailureChannel(1)),
                new InlineScheduler());
            given.path("epochs").forEach(entry -> cache.assign(entry.get(0).asInt(), entry.get(1).asLong()));
            if (!epochs(cache).get("epochs").toString().equals(given.path("epochs").toString())) {
                throw new Skipped("an epoch cache of Kafka's can't come to this");
            }
            return Reply.of(function.call(cache));
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        } finally {
            LogFiles.deleteAll(directory);
        }
    }

    private static ObjectNode epochs(LeaderEpochFileCache cache) {
        ObjectNode outcome = outcome();
        ArrayNode epochs = outcome.putArray("epochs");
        cache.epochWithOffsets().forEach((epoch, start) -> epochs.addArray().add(epoch).add(start));
        return outcome;
    }

    private static ObjectNode outcome() {
        return JsonNodeFactory.instance.objectNode();
    }
}
