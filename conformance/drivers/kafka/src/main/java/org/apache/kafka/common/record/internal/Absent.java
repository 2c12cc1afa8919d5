package org.apache.kafka.common.record.internal;

/**
 * Makes sure that there is a package of this name.
 *
 * <p>Kafka's record classes moved from {@code common.record} into it in 4.3. Sources that import both packages as a whole
 * compile against every release, as long as neither is missing.
 */
final class Absent {
    private Absent() {
    }
}
