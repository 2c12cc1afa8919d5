package fencepost.kafka.compaction;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.storage.internals.log.LogConfig;

/** The topic's configuration, as {@code configure} and {@code alter} give it; what they do not name never gets in the way. */
final class TopicSettings {
    private static final double PER_CENT = 100.0;
    /** Small, since each segment maps two files of this size. */
    private static final int INDEX_BYTES = 64 * 1024;
    /** By the name of the trace, those that are passed on as they are. */
    private static final Map<String, String> NUMBERS = Map.of(
        "delete_retention_ms", "delete.retention.ms",
        "min_compaction_lag_ms", "min.compaction.lag.ms",
        "max_compaction_lag_ms", "max.compaction.lag.ms",
        "retention_ms", "retention.ms",
        "index_interval_bytes", "index.interval.bytes",
        "segment_bytes", "internal.segment.bytes");

    private final Map<String, Object> settings = new HashMap<>();

    TopicSettings(JsonNode configure) {
        settings.put("cleanup.policy", "compact");
        settings.put("retention.ms", "-1");
        settings.put("segment.ms", Long.toString(Long.MAX_VALUE));
        settings.put("segment.index.bytes", Integer.toString(INDEX_BYTES));
        settings.put("message.timestamp.after.max.ms", Long.toString(Long.MAX_VALUE));
        settings.put("min.cleanable.dirty.ratio",
            Double.toString(configure.path("min_cleanable_dirty_percent").asInt(0) / PER_CENT));
        if (configure.hasNonNull("compression")) {
            settings.put("compression.type", compressionType(configure.get("compression").asText()));
        }
        if (configure.path("timestamp_type").asText().equals("log_append_time")) {
            settings.put("message.timestamp.type", "LogAppendTime");
        }
        alter(configure);
    }

    /** Changes what is named. */
    void alter(JsonNode changes) {
        NUMBERS.forEach((name, setting) -> {
            if (changes.hasNonNull(name)) {
                settings.put(setting, changes.get(name).asText());
            }
        });
        if (changes.hasNonNull("cleanup_policy")) {
            List<String> words = new ArrayList<>();
            changes.get("cleanup_policy").forEach(word -> words.add(word.asText()));
            settings.put("cleanup.policy", String.join(",", words));
        }
    }

    LogConfig config() {
        return new LogConfig(settings);
    }

    private static String compressionType(String codec) {
        return codec.equals("none") ? "uncompressed" : codec;
    }
}
