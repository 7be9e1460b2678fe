import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.InconsistentGroupProtocolException;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.record.TimestampType;

/** Producing, reading and classic groups with the Java client 4.4.0. */
final class ProducerConsumerCases {
    private static final String COOPERATIVE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor";
    private static final String ROUND_ROBIN = "org.apache.kafka.clients.consumer.RoundRobinAssignor";

    private ProducerConsumerCases() {}

    private static void roundTrip(String bootstrap, String... pairs) throws Exception {
        String topic = Clients.topic(bootstrap);
        Clients.send(bootstrap, topic, 500, pairs);
        try (var consumer = Clients.consumer(bootstrap, Clients.unique("group"))) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            var records = Clients.read(consumer, 500);
            for (int i = 0; i < 500; i++) {
                Cases.same("value" + i, records.get(i).value());
            }
        }
    }

    // ---- producing

    @Cases.Case
    static void codecGzip(String bootstrap) throws Exception {
        roundTrip(bootstrap, "compression.type", "gzip");
    }

    @Cases.Case
    static void codecSnappy(String bootstrap) throws Exception {
        roundTrip(bootstrap, "compression.type", "snappy");
    }

    @Cases.Case
    static void codecLz4(String bootstrap) throws Exception {
        roundTrip(bootstrap, "compression.type", "lz4");
    }

    @Cases.Case
    static void codecZstd(String bootstrap) throws Exception {
        roundTrip(bootstrap, "compression.type", "zstd");
    }

    @Cases.Case
    static void acksZero(String bootstrap) throws Exception {
        roundTrip(bootstrap, "acks", "0", "enable.idempotence", "false");
    }

    @Cases.Case
    static void acksOne(String bootstrap) throws Exception {
        roundTrip(bootstrap, "acks", "1", "enable.idempotence", "false");
    }

    @Cases.Case
    static void idempotentWithFiveInFlight(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        try (var producer = Clients.producer(bootstrap, "batch.size", "100", "linger.ms", "0")) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 0; i < 2000; i++) {
                sent.add(producer.send(new ProducerRecord<>(topic, "value" + i)));
            }
            for (int i = 0; i < sent.size(); i++) {
                Cases.same((long) i, sent.get(i).get().offset());
            }
        }
    }

    @Cases.Case
    static void headersTimestampAndNulls(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        try (var producer = Clients.producer(bootstrap); var consumer = Clients.consumer(bootstrap, Clients.unique("group"))) {
            var record = new ProducerRecord<>(topic, 0, 1_600_000_000_123L, "k", (String) null);
            record.headers().add("trace", new byte[] {0, -1}).add("trace", new byte[0]).add("null", null);
            Cases.same(1_600_000_000_123L, producer.send(record).get().timestamp());
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            var found = Clients.read(consumer, 1).get(0);
            Cases.same("k", found.key());
            Cases.same(null, found.value());
            Cases.same(record.headers(), found.headers());
            Cases.same(TimestampType.CREATE_TIME, found.timestampType());
            Cases.same(Optional.of(0), found.leaderEpoch());
        }
    }

    @Cases.Case
    static void logAppendTime(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 1, Map.of("message.timestamp.type", "LogAppendTime"));
        try (var producer = Clients.producer(bootstrap, "compression.type", "zstd");
                var consumer = Clients.consumer(bootstrap, Clients.unique("group"))) {
            long stored = producer.send(new ProducerRecord<>(topic, 0, 5L, "k", "v")).get().timestamp();
            Cases.check(stored > 1_600_000_000_000L, "the answer carries the client's time");
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            var found = Clients.read(consumer, 1).get(0);
            Cases.same(TimestampType.LOG_APPEND_TIME, found.timestampType());
            Cases.same(stored, found.timestamp());
        }
    }

    @Cases.Case
    static void tooLargeForTheTopic(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 1, Map.of("max.message.bytes", "1000"));
        try (var producer = Clients.producer(bootstrap)) {
            Cases.fails(RecordTooLargeException.class, () -> producer.send(new ProducerRecord<>(topic, "x".repeat(5000))).get());
            Cases.same(0L, producer.send(new ProducerRecord<>(topic, "small")).get().offset());
        }
    }

    @Cases.Case
    static void aLargeBatchIsSplit(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 1, Map.of("max.message.bytes", "3000"));
        Clients.send(bootstrap, topic, 500, "batch.size", "100000", "linger.ms", "100");
        try (var consumer = Clients.consumer(bootstrap, Clients.unique("group"))) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            Clients.read(consumer, 500);
        }
    }

    @Cases.Case
    static void keylessRecordOnACompactedTopic(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 1, Map.of("cleanup.policy", "compact"));
        try (var producer = Clients.producer(bootstrap)) {
            var error = Cases.fails(InvalidRecordException.class, () -> producer.send(new ProducerRecord<>(topic, "v")).get());
            Cases.check(error.getMessage().contains("Compacted topic cannot accept message without key"), error.getMessage());
        }
    }

    @Cases.Case
    static void timestampOutOfBounds(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 1, Map.of("message.timestamp.before.max.ms", "1000"));
        try (var producer = Clients.producer(bootstrap)) {
            Cases.fails(InvalidTimestampException.class, () -> producer.send(new ProducerRecord<>(topic, 0, 5L, "k", "v")).get());
        }
    }

    @Cases.Case
    static void topicIsCreatedByProducing(String bootstrap) throws Exception {
        Clients.send(bootstrap, Clients.unique("auto"), 1);
    }

    @Cases.Case
    static void invalidTopicName(String bootstrap) {
        try (var producer = Clients.producer(bootstrap, "max.block.ms", "10000")) {
            Cases.fails(InvalidTopicException.class, () -> producer.send(new ProducerRecord<>("no spaces", "v")).get());
        }
    }

    // ---- reading

    @Cases.Case
    static void offsetsByTime(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        var partition = new TopicPartition(topic, 0);
        try (var producer = Clients.producer(bootstrap, "linger.ms", "50");
                var consumer = Clients.consumer(bootstrap, Clients.unique("group"))) {
            for (long i = 0; i < 10; i++) {
                producer.send(new ProducerRecord<>(topic, 0, 1_700_000_000_000L + 1000 * i, "k", "v" + i));
            }
            producer.flush();
            var found = consumer.offsetsForTimes(Map.of(partition, 1_700_000_003_500L)).get(partition);
            Cases.same(4L, found.offset());
            Cases.same(1_700_000_004_000L, found.timestamp());
            Cases.same(null, consumer.offsetsForTimes(Map.of(partition, 1_700_000_009_001L)).get(partition));
            Cases.same(Map.of(partition, 0L), consumer.beginningOffsets(List.of(partition)));
            Cases.same(Map.of(partition, 10L), consumer.endOffsets(List.of(partition)));
        }
    }

    @Cases.Case
    static void seekPauseAndLag(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 2, Map.of());
        var first = new TopicPartition(topic, 0);
        var second = new TopicPartition(topic, 1);
        try (var producer = Clients.producer(bootstrap); var consumer = Clients.consumer(bootstrap, Clients.unique("group"))) {
            for (int i = 0; i < 10; i++) {
                producer.send(new ProducerRecord<>(topic, i % 2, "k", "v" + i));
            }
            producer.flush();
            consumer.assign(List.of(first, second));
            consumer.pause(List.of(second));
            consumer.seek(first, 3);
            Cases.same(List.of(3L, 4L), Clients.offsets(Clients.read(consumer, 2)));
            Cases.same(OptionalLong.of(0), consumer.currentLag(first));
            consumer.resume(List.of(second));
            Clients.read(consumer, 5);
            consumer.seekToEnd(List.of(first));
            Cases.same(5L, consumer.position(first));
        }
    }

    @Cases.Case
    static void onePollAtATime(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        Clients.send(bootstrap, topic, 20);
        try (var consumer = Clients.consumer(bootstrap, Clients.unique("group"), "max.poll.records", "1",
                "max.partition.fetch.bytes", "1", "fetch.max.bytes", "1")) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            Cases.same("value19", Clients.read(consumer, 20).get(19).value());
        }
    }

    @Cases.Case
    static void manyPartitionsInOneSession(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 50, Map.of());
        try (var producer = Clients.producer(bootstrap); var consumer = Clients.consumer(bootstrap, Clients.unique("group"))) {
            List<TopicPartition> all = new ArrayList<>();
            for (int partition = 0; partition < 50; partition++) {
                all.add(new TopicPartition(topic, partition));
            }
            consumer.assign(all);
            for (int round = 0; round < 5; round++) {
                for (int partition = round; partition < 50; partition += 7) {
                    producer.send(new ProducerRecord<>(topic, partition, "k", "r" + round));
                }
                producer.flush();
                Cases.same(Set.of("r" + round), valuesOf(Clients.read(consumer, (50 - round + 6) / 7)));
            }
        }
    }

    private static Set<String> valuesOf(List<ConsumerRecord<String, String>> records) {
        Set<String> values = new HashSet<>();
        records.forEach(record -> values.add(record.value()));
        return values;
    }

    @Cases.Case
    static void readCommittedReadsPlainRecords(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        Clients.send(bootstrap, topic, 10);
        try (var consumer = Clients.consumer(bootstrap, Clients.unique("group"), "isolation.level", "read_committed")) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            Clients.read(consumer, 10);
        }
    }

    // ---- groups

    @Cases.Case
    static void commitAndResume(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = Clients.unique("group");
        var partition = new TopicPartition(topic, 0);
        Clients.send(bootstrap, topic, 10);
        try (var consumer = Clients.consumer(bootstrap, group)) {
            consumer.subscribe(List.of(topic));
            Clients.read(consumer, 10);
            var six = new OffsetAndMetadata(6, Optional.of(0), "six");
            consumer.commitSync(Map.of(partition, six));
            Cases.same(Map.of(partition, six), consumer.committed(Set.of(partition)));
        }
        try (var consumer = Clients.consumer(bootstrap, group)) {
            consumer.subscribe(List.of(topic));
            Cases.same(6L, Clients.read(consumer, 4).get(0).offset());
        }
    }

    @Cases.Case
    static void rangeRebalance(String bootstrap) throws Exception {
        rebalance(bootstrap, "org.apache.kafka.clients.consumer.RangeAssignor");
    }

    @Cases.Case
    static void roundRobinRebalance(String bootstrap) throws Exception {
        rebalance(bootstrap, ROUND_ROBIN);
    }

    @Cases.Case
    static void stickyRebalance(String bootstrap) throws Exception {
        rebalance(bootstrap, "org.apache.kafka.clients.consumer.StickyAssignor");
    }

    @Cases.Case
    static void cooperativeRebalance(String bootstrap) throws Exception {
        rebalance(bootstrap, COOPERATIVE);
    }

    private static void rebalance(String bootstrap, String assignor) throws Exception {
        String topic = Clients.topic(bootstrap, 6, Map.of());
        String group = Clients.unique("group");
        String[] settings = {"partition.assignment.strategy", assignor};
        try (var one = Clients.consumer(bootstrap, group, settings); var two = Clients.consumer(bootstrap, group, settings)) {
            one.subscribe(List.of(topic));
            Clients.pollUntil(() -> one.assignment().size() == 6, one);
            two.subscribe(List.of(topic));
            Clients.pollUntil(() -> one.assignment().size() == 3 && two.assignment().size() == 3, one, two);
            var all = new HashSet<>(one.assignment());
            all.addAll(two.assignment());
            Cases.same(6, all.size());
            two.unsubscribe();
            Clients.pollUntil(() -> one.assignment().size() == 6, one);
        }
    }

    @Cases.Case
    static void listenerIsToldAndAMemberThatDoesNotPollLosesItsPlace(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 2, Map.of());
        List<String> heard = new ArrayList<>();
        var listener = new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                heard.add("revoked " + partitions.size());
            }

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                heard.add("assigned " + partitions.size());
            }

            @Override
            public void onPartitionsLost(Collection<TopicPartition> partitions) {
                heard.add("lost " + partitions.size());
            }
        };
        String group = Clients.unique("group");
        try (var consumer = Clients.consumer(bootstrap, group, "max.poll.interval.ms", "500", "session.timeout.ms", "6000");
                var admin = Clients.admin(bootstrap)) {
            consumer.subscribe(List.of(topic), listener);
            Clients.pollUntil(() -> consumer.assignment().size() == 2, consumer);
            Cases.soon(() -> Cases.same(Set.of(), Set.copyOf( // it leaves by itself
                admin.describeConsumerGroups(List.of(group)).all().get().get(group).members())));
            Clients.pollUntil(() -> heard.size() >= 3, consumer); // more where this thread does not poll for so long again
            Cases.same(List.of("assigned 2", "lost 2", "assigned 2"), heard.subList(0, 3));
        }
    }

    @Cases.Case
    static void staticMembership(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 4, Map.of());
        String group = Clients.unique("group");
        String[] first = {"group.instance.id", "machine-1"};
        String[] second = {"group.instance.id", "machine-2"};
        try (var one = Clients.consumer(bootstrap, group, first)) {
            var two = Clients.consumer(bootstrap, group, second);
            one.subscribe(List.of(topic));
            two.subscribe(List.of(topic));
            Clients.pollUntil(() -> one.assignment().size() == 2 && two.assignment().size() == 2, one, two);
            var before = two.assignment();
            int generation = two.groupMetadata().generationId();
            two.close();
            try (var again = Clients.consumer(bootstrap, group, second)) {
                again.subscribe(List.of(topic));
                Clients.pollUntil(() -> again.assignment().equals(before), again);
                Cases.same(generation, again.groupMetadata().generationId());
            }
        }
    }

    @Cases.Case
    static void aSecondUseOfAnInstanceIdFencesTheFirst(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = Clients.unique("group");
        String[] same = {"group.instance.id", "same"};
        try (var one = Clients.consumer(bootstrap, group, same); var two = Clients.consumer(bootstrap, group, same)) {
            one.subscribe(List.of(topic));
            Clients.pollUntil(() -> one.assignment().size() == 1, one);
            two.subscribe(List.of(topic));
            Clients.pollUntil(() -> two.assignment().size() == 1, two);
            Cases.fails(FencedInstanceIdException.class, () -> Clients.pollUntil(() -> false, one));
        }
    }

    @Cases.Case
    static void strategiesMustMeet(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = Clients.unique("group");
        try (var one = Clients.consumer(bootstrap, group, "partition.assignment.strategy", ROUND_ROBIN);
                var two = Clients.consumer(bootstrap, group, "partition.assignment.strategy", COOPERATIVE)) {
            one.subscribe(List.of(topic));
            Clients.pollUntil(() -> one.assignment().size() == 1, one);
            two.subscribe(List.of(topic));
            Cases.fails(InconsistentGroupProtocolException.class, () -> Clients.pollUntil(() -> false, two));
        }
    }

    @Cases.Case
    static void patternMeetsNewTopics(String bootstrap) throws Exception {
        String prefix = Clients.topic(bootstrap);
        try (var consumer = Clients.consumer(bootstrap, Clients.unique("group"), "metadata.max.age.ms", "300")) {
            consumer.subscribe(Pattern.compile(prefix + ".*"));
            Clients.pollUntil(() -> consumer.assignment().size() == 1, consumer);
            Clients.send(bootstrap, prefix + "-later", 1);
            Clients.pollUntil(() -> consumer.assignment().size() == 2, consumer);
        }
    }

    @Cases.Case
    static void autoCommitOnClose(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = Clients.unique("group");
        Clients.send(bootstrap, topic, 3);
        try (var consumer = Clients.consumer(bootstrap, group, "enable.auto.commit", "true")) {
            consumer.subscribe(List.of(topic));
            Clients.read(consumer, 3);
        }
        var partition = new TopicPartition(topic, 0);
        try (var consumer = Clients.consumer(bootstrap, group)) {
            Cases.same(3L, consumer.committed(Set.of(partition), Duration.ofSeconds(20)).get(partition).offset());
        }
    }
}
