package dev.fencepost.broker;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.message.DescribeTransactionsRequestData;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.DescribeTransactionsRequest;
import org.apache.kafka.common.requests.DescribeTransactionsResponse;
import org.apache.kafka.common.requests.FindCoordinatorRequest;
import org.apache.kafka.common.requests.FindCoordinatorRequest.CoordinatorType;
import org.apache.kafka.common.requests.FindCoordinatorResponse;
import org.apache.kafka.common.requests.OffsetFetchRequest;
import org.apache.kafka.common.requests.OffsetFetchResponse;

/**
 * Waits until the broker's group coordinator and transaction coordinator are there and have loaded their partition; each
 * has only one ({@link SingleNodeBroker}), so that asking about any key is enough. Asking for a coordinator is also what
 * makes the broker create its topic.
 */
final class Coordinators {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final String ANY_KEY = "fencepost-nobody";

    private Coordinators() {}

    static void await(Connection connection) throws IOException {
        for (CoordinatorType type : List.of(CoordinatorType.GROUP, CoordinatorType.TRANSACTION)) {
            FindCoordinatorRequestData find = new FindCoordinatorRequestData()
                    .setKeyType(type.id()).setCoordinatorKeys(List.of(ANY_KEY));
            Retrying.until(PATIENCE_NANOS, () -> connection.exchange(
                    new FindCoordinatorRequest.Builder(find), FindCoordinatorResponse.class).data().coordinators().get(0),
                    answer -> Errors.forCode(answer.errorCode()));
        }
        OffsetFetchRequestData fetch = new OffsetFetchRequestData().setRequireStable(true).setGroups(List.of(
                new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(ANY_KEY).setMemberEpoch(-1).setTopics(null)));
        Retrying.until(PATIENCE_NANOS, () -> connection.exchange(
                OffsetFetchRequest.Builder.forTopicIdsOrNames(fetch, false), OffsetFetchResponse.class)
                .data().groups().get(0), answer -> Errors.forCode(answer.errorCode()));
        awaitTransactions(connection);
    }

    private static void awaitTransactions(Connection connection) throws IOException {
        DescribeTransactionsRequestData describe =
                new DescribeTransactionsRequestData().setTransactionalIds(List.of(ANY_KEY));
        Retrying.until(PATIENCE_NANOS, () -> connection.exchange(
                new DescribeTransactionsRequest.Builder(describe), DescribeTransactionsResponse.class)
                .data().transactionStates().get(0), answer -> {
                    Errors error = Errors.forCode(answer.errorCode());
                    return error == Errors.TRANSACTIONAL_ID_NOT_FOUND ? Errors.NONE : error;
                });
    }
}
