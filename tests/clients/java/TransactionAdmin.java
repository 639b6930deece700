import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;

/** What the Java admin client can see and do about transactions. */
final class TransactionAdmin {
    private static List<String> listed(Admin admin, ListTransactionsOptions options) throws Exception {
        return admin.listTransactions(options).all().get().stream().map(TransactionListing::transactionalId).toList();
    }

    private static ProducerState producerState(Admin admin, TopicPartition place, long producerId) throws Exception {
        return admin.describeProducers(List.of(place)).partitionResult(place).get().activeProducers().stream()
                .filter(one -> one.producerId() == producerId).findFirst().orElseThrow();
    }

    static void describing() throws Exception {
        String topic = Checks.topic("describe", 2);
        String id = Checks.fresh("describe");
        long before = System.currentTimeMillis();
        try (var producer = Transactions.producer(id, Map.of("transaction.timeout.ms", 55_000)); Admin admin = Checks.admin()) {
            var fresh = admin.describeTransactions(List.of(id)).description(id).get();
            Checks.equal(fresh.state(), TransactionState.EMPTY, "state before the first transaction");
            Checks.equal(fresh.transactionTimeoutMs(), 55_000L, "time-out");
            Checks.check(fresh.transactionStartTimeMs().isEmpty(), "no start time");
            producer.beginTransaction();
            Transactions.send(producer, topic, 0, "a");
            Transactions.send(producer, topic, 1, "b", "c");
            var open = admin.describeTransactions(List.of(id)).description(id).get();
            TopicPartition one = new TopicPartition(topic, 1);
            Checks.equal(open.state(), TransactionState.ONGOING, "state");
            Checks.equal(open.topicPartitions(), Set.of(new TopicPartition(topic, 0), one), "partitions");
            Checks.check(open.transactionStartTimeMs().orElse(0) >= before, "start time");
            ProducerState state = producerState(admin, one, open.producerId());
            Checks.equal(state.producerEpoch(), open.producerEpoch(), "epoch in the partition");
            Checks.equal(state.lastSequence(), 1, "last sequence");
            Checks.equal(state.currentTransactionStartOffset().orElse(-1), 0L, "start of the transaction");
            Checks.check(listed(admin, new ListTransactionsOptions()).contains(id), "listed");
            Checks.check(listed(admin, new ListTransactionsOptions().filterStates(List.of(TransactionState.ONGOING))).contains(id),
                    "listed among the ongoing");
            Checks.check(!listed(admin, new ListTransactionsOptions().filterStates(List.of(TransactionState.EMPTY))).contains(id),
                    "not listed among the empty");
            Checks.equal(listed(admin, new ListTransactionsOptions().filterProducerIds(List.of(open.producerId()))), List.of(id),
                    "listed by producer id");
            Checks.check(!listed(admin, new ListTransactionsOptions().filterOnDuration(3_600_000)).contains(id), "not for an hour");
            Checks.equal(listed(admin, new ListTransactionsOptions().filterOnTransactionalIdPattern(id.substring(0, 12) + ".*" + id.substring(13))),
                    List.of(id), "listed by pattern");
            producer.commitTransaction();
            Checks.until("complete", () ->
                    admin.describeTransactions(List.of(id)).description(id).get().state() == TransactionState.COMPLETE_COMMIT);
            Checks.check(producerState(admin, one, open.producerId()).currentTransactionStartOffset().isEmpty(), "closed there too");
            producer.beginTransaction();
            producer.abortTransaction();
            Class<?> unknown = Checks.refusal(() -> admin.describeTransactions(List.of("absent")).description("absent").get());
            Checks.equal(unknown, TransactionalIdNotFoundException.class, "an unknown transactional id");
        }
    }

    /** An administrator ends what holds back the readers of a partition. */
    static void aborting() throws Exception {
        String topic = Checks.topic("hanging", 1);
        TopicPartition place = new TopicPartition(topic, 0);
        String id = Checks.fresh("hanging");
        try (var producer = Transactions.producer(id, Map.of()); Admin admin = Checks.admin()) {
            producer.beginTransaction();
            Transactions.send(producer, topic, 0, "hangs");
            long producerId = admin.describeTransactions(List.of(id)).description(id).get().producerId();
            try (var plain = Checks.producer(Map.of())) {
                Transactions.send(plain, topic, 0, "after");
            }
            ProducerState state = producerState(admin, place, producerId);
            var spec = new AbortTransactionSpec(place, producerId, (short) state.producerEpoch(), 0);
            admin.abortTransaction(spec).all().get();
            Transactions.shows(topic, "after");
            Checks.check(producerState(admin, place, producerId).currentTransactionStartOffset().isEmpty(), "no open transaction");
            producer.abortTransaction();
        }
    }

    static void fencing() throws Exception {
        String topic = Checks.topic("fence", 1);
        String id = Checks.fresh("fence");
        var producer = Transactions.producer(id, Map.of());
        try (Admin admin = Checks.admin()) {
            producer.beginTransaction();
            Transactions.send(producer, topic, 0, "fenced");
            admin.fenceProducers(List.of(id)).all().get();
            try {
                producer.commitTransaction();
                throw new AssertionError("a fenced producer committed");
            } catch (KafkaException fenced) {
                producer.close(java.time.Duration.ZERO);
            }
            Transactions.shows(topic);
        }
    }
}
