package fencepost.kafka.replication;

import java.util.Map;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/** The one topic of a trace, and its one partition. */
final class Topic {
    static final String NAME = "t";
    static final Uuid ID = new Uuid(7, 7);
    static final TopicPartition PARTITION = new TopicPartition(NAME, 0);
    static final TopicIdPartition PARTITION_WITH_ID = new TopicIdPartition(ID, PARTITION);
    static final Map<Uuid, String> NAMES = Map.of(ID, NAME);

    private Topic() {
    }
}
