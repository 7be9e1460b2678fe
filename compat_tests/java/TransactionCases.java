import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FenceProducersOptions;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;

/** Transactions with the Java client 4.4.0: in both protocols, with offsets, fenced, timed out, seen by an administrator. */
final class TransactionCases {
    private static final String COMMITTED = "read_committed";

    private TransactionCases() {}

    private static KafkaProducer<String, String> producer(String bootstrap, String id, String... pairs) {
        var producer = Clients.producer(bootstrap, with(pairs, "transactional.id", id));
        producer.initTransactions();
        return producer;
    }

    private static String[] with(String[] pairs, String... more) {
        var all = new ArrayList<>(List.of(pairs));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    private static void send(KafkaProducer<String, String> producer, String topic, int partition, int from, int to) {
        for (int i = from; i < to; i++) {
            producer.send(new ProducerRecord<>(topic, partition, "key" + i, "value" + i));
        }
    }

    private static List<String> values(String bootstrap, String topic, String isolation, int count) {
        try (var consumer = Clients.consumer(bootstrap, Clients.unique("group"), "isolation.level", isolation)) {
            consumer.subscribe(List.of(topic));
            var values = new ArrayList<>(Clients.read(consumer, count).stream().map(ConsumerRecord::value).sorted().toList());
            consumer.poll(Duration.ofMillis(300)).forEach(more -> values.add(more.value()));
            return values;
        }
    }

    private static List<String> expected(int... ranges) {
        var values = new ArrayList<String>();
        for (int n = 0; n < ranges.length; n += 2) {
            for (int i = ranges[n]; i < ranges[n + 1]; i++) {
                values.add("value" + i);
            }
        }
        return values.stream().sorted().toList();
    }

    @Cases.Case
    static void committedIsSeenAndAbortedIsNot(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 3, Map.of());
        try (var producer = producer(bootstrap, Clients.unique("id"))) {
            for (int round = 0; round < 6; round++) {
                producer.beginTransaction();
                for (int partition = 0; partition < 3; partition++) {
                    send(producer, topic, partition, round * 30 + partition * 10, round * 30 + partition * 10 + 10);
                }
                if (round % 2 == 0) {
                    producer.commitTransaction();
                } else {
                    producer.flush();
                    producer.abortTransaction();
                }
            }
        }
        Cases.same(expected(0, 30, 60, 90, 120, 150), values(bootstrap, topic, COMMITTED, 90));
        Cases.same(expected(0, 180), values(bootstrap, topic, "read_uncommitted", 180));
    }

    @Cases.Case
    static void emptyTransactionsEndToo(String bootstrap) throws Exception {
        try (var producer = producer(bootstrap, Clients.unique("id"))) {
            producer.beginTransaction();
            producer.commitTransaction();
            producer.beginTransaction();
            producer.abortTransaction();
        }
    }

    @Cases.Case
    static void offsetsGoWithTheTransaction(String bootstrap) throws Exception {
        String from = Clients.topic(bootstrap);
        String to = Clients.topic(bootstrap);
        var source = new TopicPartition(from, 0);
        Clients.send(bootstrap, from, 50);
        String group = Clients.unique("group");
        try (var consumer = Clients.consumer(bootstrap, group, "isolation.level", COMMITTED, "max.poll.records", "10");
                var producer = producer(bootstrap, Clients.unique("id"))) {
            consumer.subscribe(List.of(from));
            boolean aborted = false;
            for (long done = 0; done < 50;) {
                var records = Clients.read(consumer, 10);
                producer.beginTransaction();
                records.forEach(record -> producer.send(new ProducerRecord<>(to, record.key(), record.value())));
                var next = Map.of(source, new OffsetAndMetadata(done + 10));
                producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
                if (done == 30 && !aborted) { // these ten are read again
                    producer.abortTransaction();
                    consumer.seek(source, consumer.committed(Set.of(source)).get(source));
                    aborted = true;
                } else {
                    producer.commitTransaction();
                    done += 10;
                }
                Cases.same(done, consumer.committed(Set.of(source)).get(source).offset());
            }
        }
        Cases.same(expected(0, 50), values(bootstrap, to, COMMITTED, 50));
    }

    @Cases.Case
    static void aNewIncarnationFencesTheOld(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String id = Clients.unique("id");
        try (var old = producer(bootstrap, id)) {
            old.beginTransaction();
            send(old, topic, 0, 0, 5);
            old.flush();
            try (var young = producer(bootstrap, id)) {
                Cases.fails(KafkaException.class, () -> {
                    send(old, topic, 0, 5, 6);
                    old.commitTransaction();
                });
                young.beginTransaction();
                send(young, topic, 0, 6, 8);
                young.commitTransaction();
            }
        }
        Cases.same(expected(6, 8), values(bootstrap, topic, COMMITTED, 2));
    }

    @Cases.Case
    static void anAdministratorFences(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String id = Clients.unique("id");
        try (var producer = producer(bootstrap, id); var admin = Clients.admin(bootstrap)) {
            producer.beginTransaction();
            send(producer, topic, 0, 0, 5);
            producer.flush();
            admin.fenceProducers(List.of(id), new FenceProducersOptions().timeoutMs(20_000)).all().get();
            Cases.fails(KafkaException.class, producer::commitTransaction);
        }
    }

    @Cases.Case
    static void anAdministratorLooks(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 2, Map.of());
        String id = Clients.unique("id");
        try (var producer = producer(bootstrap, id, "transaction.timeout.ms", "33000"); var admin = Clients.admin(bootstrap)) {
            Cases.same(TransactionState.EMPTY, admin.describeTransactions(List.of(id)).description(id).get().state());
            producer.beginTransaction();
            send(producer, topic, 0, 0, 1);
            send(producer, topic, 1, 1, 2);
            producer.flush();
            var open = admin.describeTransactions(List.of(id)).description(id).get();
            Cases.same(TransactionState.ONGOING, open.state());
            Cases.same(Set.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1)), open.topicPartitions());
            Cases.same(33000L, open.transactionTimeoutMs());
            Cases.same(true, open.transactionStartTimeMs().isPresent());
            Cases.same(true, listed(admin, id, new ListTransactionsOptions().filterStates(List.of(TransactionState.ONGOING))));
            Cases.same(true, listed(admin, id, new ListTransactionsOptions().filterProducerIds(List.of(open.producerId()))));
            Cases.same(true, listed(admin, id, new ListTransactionsOptions().filterOnTransactionalIdPattern(id.substring(0, 9) + ".*")));
            Cases.same(false, listed(admin, id, new ListTransactionsOptions().filterOnDuration(3_600_000)));
            Cases.same(false, listed(admin, id, new ListTransactionsOptions().filterStates(List.of(TransactionState.EMPTY))));
            var partition = new TopicPartition(topic, 0);
            var active = admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers();
            Cases.same(1, active.size());
            Cases.same(0L, active.get(0).currentTransactionStartOffset().getAsLong());
            producer.commitTransaction();
            Cases.soon(() -> {
                var ended = admin.describeTransactions(List.of(id)).description(id).get();
                Cases.same(TransactionState.COMPLETE_COMMIT, ended.state());
                Cases.same(open.producerEpoch() + 1, ended.producerEpoch());
            });
            String unknown = Clients.unique("unknown");
            Cases.fails(TransactionalIdNotFoundException.class,
                () -> admin.describeTransactions(List.of(unknown)).description(unknown).get());
        }
    }

    private static boolean listed(Admin admin, String id, ListTransactionsOptions options) throws Exception {
        return admin.listTransactions(options).all().get().stream().anyMatch(each -> each.transactionalId().equals(id));
    }

    @Cases.Case
    static void anAdministratorAborts(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        var partition = new TopicPartition(topic, 0);
        try (var producer = producer(bootstrap, Clients.unique("id")); var admin = Clients.admin(bootstrap)) {
            producer.beginTransaction();
            send(producer, topic, 0, 0, 3);
            producer.flush();
            var open = admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers().get(0);
            admin.abortTransaction(new AbortTransactionSpec(partition, open.producerId(), (short) open.producerEpoch(),
                Math.max(0, open.coordinatorEpoch().orElse(0)))).all().get();
            Clients.send(bootstrap, topic, 2);
            Cases.same(List.of("value0", "value1"), values(bootstrap, topic, COMMITTED, 2));
        }
    }

    @Cases.Case
    static void timeLimitsAreChecked(String bootstrap) {
        Cases.fails(KafkaException.class,
            () -> producer(bootstrap, Clients.unique("id"), "transaction.timeout.ms", "900001").close());
    }

    @Cases.Case
    static void anOpenTransactionHoldsBackCommittedReaders(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        var partition = new TopicPartition(topic, 0);
        try (var producer = producer(bootstrap, Clients.unique("id"));
                var committed = Clients.consumer(bootstrap, Clients.unique("group"), "isolation.level", COMMITTED)) {
            committed.assign(List.of(partition));
            producer.beginTransaction();
            send(producer, topic, 0, 0, 3);
            producer.flush();
            Clients.send(bootstrap, topic, 2);
            Cases.same(0, committed.poll(Duration.ofMillis(500)).count());
            Cases.same(0L, committed.endOffsets(List.of(partition)).get(partition));
            producer.commitTransaction();
            Cases.same(5, Clients.read(committed, 5).size());
            Cases.same(6L, committed.endOffsets(List.of(partition)).get(partition));
        }
    }
}
