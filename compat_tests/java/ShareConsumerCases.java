import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.InvalidRecordStateException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordDeserializationException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** What a member of a share group may do, and what it is told: the subjects of Kafka's own ShareConsumerTest. */
final class ShareConsumerCases {
    private ShareConsumerCases() {}

    @Cases.Case
    static void subscriptions(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        try (var consumer = ShareClients.consumer(bootstrap, ShareClients.group(bootstrap))) {
            Cases.same(Set.of(), consumer.subscription());
            Cases.fails(IllegalStateException.class, () -> consumer.poll(Duration.ofMillis(100)));
            for (int i = 0; i < 2; i++) {
                consumer.subscribe(Set.of(topic));
                Cases.same(Set.of(topic), consumer.subscription());
                ShareClients.nothingMore(consumer);
            }
            consumer.unsubscribe();
            Cases.same(Set.of(), consumer.subscription());
            Cases.fails(IllegalStateException.class, () -> consumer.poll(Duration.ofMillis(100)));
            consumer.subscribe(Set.of(topic));
            consumer.subscribe(Set.of());
            Cases.fails(IllegalStateException.class, () -> consumer.poll(Duration.ofMillis(100)));
            consumer.subscribe(Set.of("no topic"));
            Cases.fails(InvalidTopicException.class, () -> consumer.poll(Duration.ofSeconds(60)));
        }
    }

    @Cases.Case
    static void theLockIsTold(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap, "share.record.lock.duration.ms", "15000");
        try (var consumer = ShareClients.worker(bootstrap, group, topic)) {
            Cases.same(Optional.empty(), consumer.acquisitionLockTimeoutMs());
            Clients.send(bootstrap, topic, 1);
            var records = ShareClients.next(consumer);
            Cases.same(Optional.of(15_000), consumer.acquisitionLockTimeoutMs());
            ShareClients.alter(bootstrap, group, "share.record.lock.duration.ms", "25000");
            ShareClients.say(consumer, records, AcknowledgeType.ACCEPT);
            Cases.same(Optional.of(15_000), consumer.acquisitionLockTimeoutMs());
            Clients.send(bootstrap, topic, 1);
            ShareClients.say(consumer, ShareClients.next(consumer), AcknowledgeType.ACCEPT);
            Cases.same(Optional.of(25_000), consumer.acquisitionLockTimeoutMs());
        }
    }

    @Cases.Case
    static void recordsLargerThanAFetch(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        try (var producer = Clients.producer(bootstrap)) {
            producer.send(new ProducerRecord<>(topic, "small")).get();
            producer.send(new ProducerRecord<>(topic, "x".repeat(10_000))).get();
        }
        for (String setting : List.of("fetch.max.bytes", "max.partition.fetch.bytes")) {
            try (var consumer = ShareClients.consumer(bootstrap, ShareClients.group(bootstrap), setting, "1")) {
                consumer.subscribe(List.of(topic));
                Cases.same(List.of(0L, 1L), ShareClients.offsets(ShareClients.read(consumer, 2)));
            }
        }
    }

    @Cases.Case
    static void headersAndTimes(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        try (var producer = Clients.producer(bootstrap)) {
            for (int i = 0; i < 300; i++) {
                var headers = List.<org.apache.kafka.common.header.Header>of(
                    new RecordHeader("b", "1".getBytes()), new RecordHeader("a", ("" + i).getBytes()));
                producer.send(new ProducerRecord<>(topic, 0, 1_000_000L + i, "key" + i, "value" + i, headers));
            }
        }
        String group = ShareClients.group(bootstrap);
        try (var consumer = ShareClients.consumer(bootstrap, group, "max.poll.records", "2")) {
            consumer.subscribe(List.of(topic));
            int i = 0;
            for (var each : ShareClients.read(consumer, 300)) {
                Cases.same(List.of("key" + i, "value" + i), List.of(each.key(), each.value()));
                Cases.same(1_000_000L + i, each.timestamp());
                Cases.same(List.of("b", "a"), List.of(each.headers().toArray()).stream().map(h -> h.key()).toList());
                Cases.same("" + i, new String(each.headers().lastHeader("a").value()));
                i++;
            }
        }
    }

    // What is said of records

    @Cases.Case
    static void explicitlyInBatches(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        Clients.send(bootstrap, topic, 3);
        try (var consumer = ShareClients.worker(bootstrap, ShareClients.group(bootstrap), topic)) {
            var offsets = new TreeSet<Long>();
            consumer.setAcknowledgementCommitCallback((all, error) -> {
                Cases.same(null, error);
                all.values().forEach(offsets::addAll);
            });
            var records = ShareClients.next(consumer);
            Cases.same(3, records.size());
            consumer.acknowledge(records.get(0));
            consumer.acknowledge(records.get(1));
            consumer.commitAsync();
            Cases.fails(IllegalStateException.class, () -> consumer.poll(Duration.ofMillis(500)));
            consumer.acknowledge(records.get(2), AcknowledgeType.RELEASE);
            consumer.acknowledge(records.get(2), AcknowledgeType.ACCEPT); // what is said last counts
            consumer.commitAsync();
            Clients.send(bootstrap, topic, 1);
            var last = ShareClients.next(consumer);
            Cases.same(List.of(3L), ShareClients.offsets(last));
            Cases.fails(IllegalStateException.class, () -> consumer.acknowledge(records.get(0)));
            ShareClients.say(consumer, last, AcknowledgeType.ACCEPT);
            Cases.same(Map.of(), consumer.commitSync());
            ShareClients.nothingMore(consumer);
            Cases.same(Set.of(0L, 1L, 2L, 3L), offsets);
        }
    }

    @Cases.Case
    static void whatIsReleasedGoesToAnother(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        Clients.send(bootstrap, topic, 3);
        try (var one = ShareClients.worker(bootstrap, group, topic);
                var other = ShareClients.worker(bootstrap, group, topic)) {
            var records = ShareClients.next(one);
            Cases.same(List.of(0L, 1L, 2L), ShareClients.offsets(records));
            one.acknowledge(records.get(0), AcknowledgeType.ACCEPT);
            one.acknowledge(records.get(1), AcknowledgeType.REJECT);
            one.acknowledge(records.get(2), AcknowledgeType.RELEASE);
            one.commitAsync();
            var again = ShareClients.next(other);
            Cases.same(List.of(2L), ShareClients.offsets(again));
            Cases.same(List.of((short) 2), ShareClients.counts(again));
            ShareClients.say(other, again, AcknowledgeType.ACCEPT);
        }
    }

    @Cases.Case
    static void impliedByTheNextPoll(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        Clients.send(bootstrap, topic, 2);
        try (var consumer = ShareClients.consumer(bootstrap, group)) {
            consumer.subscribe(List.of(topic));
            var records = ShareClients.next(consumer);
            Cases.fails(IllegalStateException.class, () -> consumer.acknowledge(records.get(0)));
            Cases.same(1, consumer.commitSync().size());
            Cases.same(0, consumer.commitSync().size());
            ShareClients.nothingMore(consumer);
            Clients.send(bootstrap, topic, 1);
            ShareClients.next(consumer);
            consumer.commitAsync();
            ShareClients.nothingMore(consumer);
        }
        ShareClients.lagBecomes(bootstrap, group, topic, 0);
    }

    @Cases.Case
    static void callbacks(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        var seen = new TreeSet<Long>();
        var refused = new AtomicInteger();
        var consumer = ShareClients.consumer(bootstrap, group);
        try (consumer) {
            consumer.setAcknowledgementCommitCallback((all, error) -> {
                Cases.same(null, error);
                all.values().forEach(seen::addAll);
                try { // it is inside of the consumer
                    consumer.poll(Duration.ZERO);
                } catch (IllegalStateException expected) {
                    refused.incrementAndGet();
                }
                throw new IllegalArgumentException("what a callback throws stays in it");
            });
            consumer.subscribe(List.of(topic));
            Clients.send(bootstrap, topic, 1);
            ShareClients.next(consumer);
            ShareClients.until(() -> { // with a poll
                consumer.poll(Duration.ofMillis(100));
                return seen.contains(0L);
            });
            Clients.send(bootstrap, topic, 1);
            ShareClients.next(consumer);
            ShareClients.commit(consumer); // with a commit
            Cases.same(Set.of(0L, 1L), seen);
            Clients.send(bootstrap, topic, 1);
            ShareClients.next(consumer);
            consumer.commitAsync();
        }
        Cases.same(Set.of(0L, 1L, 2L), seen); // with the end
        Cases.check(refused.get() > 0, "the callback called the consumer");
        try (var woken = ShareClients.consumer(bootstrap, group)) {
            woken.setAcknowledgementCommitCallback((all, error) -> woken.wakeup());
            woken.subscribe(List.of(topic));
            Clients.send(bootstrap, topic, 1);
            ShareClients.next(woken);
            Cases.fails(WakeupException.class, () -> ShareClients.until(() -> {
                woken.poll(Duration.ofMillis(100));
                return false;
            }));
        }
    }

    @Cases.Case
    static void aLockThatIsOver(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap, "share.record.lock.duration.ms", "4000"); // the second one has it, too
        Clients.send(bootstrap, topic, 1);
        try (var slow = ShareClients.worker(bootstrap, group, topic);
                var quick = ShareClients.worker(bootstrap, group, topic)) {
            var records = ShareClients.next(slow);
            Cases.same(List.of((short) 1), ShareClients.counts(records));
            var again = ShareClients.next(quick);
            Cases.same(List.of((short) 2), ShareClients.counts(again));
            slow.acknowledge(records.get(0), AcknowledgeType.ACCEPT);
            var error = slow.commitSync().values().iterator().next().get();
            Cases.check(error instanceof InvalidRecordStateException, "" + error);
            ShareClients.say(quick, again, AcknowledgeType.ACCEPT);
        }
        ShareClients.lagBecomes(bootstrap, group, topic, 0);
    }

    @Cases.Case
    static void renewed(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap, "share.record.lock.duration.ms", "5000");
        Clients.send(bootstrap, topic, 2);
        try (var one = ShareClients.worker(bootstrap, group, topic);
                var other = ShareClients.worker(bootstrap, group, topic)) {
            var records = ShareClients.next(one);
            Cases.same(2, records.size());
            one.acknowledge(records.get(0), AcknowledgeType.ACCEPT);
            long end = System.currentTimeMillis() + 7000;
            while (System.currentTimeMillis() < end) { // longer than the lock
                one.acknowledge(records.get(1), AcknowledgeType.RENEW);
                ShareClients.commit(one);
                Cases.same(0, other.poll(Duration.ofMillis(500)).count());
                var kept = ShareClients.next(one);
                Cases.same(List.of(1L), ShareClients.offsets(kept));
                Cases.same(List.of((short) 1), ShareClients.counts(kept));
                records = ShareClients.plus(records.get(0), kept);
            }
            one.acknowledge(records.get(1), AcknowledgeType.REJECT);
            ShareClients.commit(one);
            var last = records.get(1);
            Cases.fails(IllegalStateException.class, () -> one.acknowledge(last, AcknowledgeType.RENEW));
        }
        ShareClients.lagBecomes(bootstrap, group, topic, 0);
    }

    @Cases.Case
    static void corruptedRecords(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        Clients.send(bootstrap, topic, 3);
        Deserializer<String> failing = (name, data) -> {
            String value = new String(data);
            if (value.equals("value2")) {
                throw new SerializationException(value);
            }
            return value;
        };
        var properties = Clients.properties(bootstrap, "group.id", group, "share.acknowledgement.mode", "explicit");
        try (var consumer = new KafkaShareConsumer<>(properties, new StringDeserializer(), failing)) {
            consumer.subscribe(List.of(topic));
            var first = ShareClients.next(consumer);
            Cases.same(List.of(0L, 1L), ShareClients.offsets(first));
            Cases.fails(IllegalStateException.class, () -> consumer.acknowledge(topic, 0, 0, AcknowledgeType.ACCEPT));
            ShareClients.say(consumer, first, AcknowledgeType.ACCEPT);
            var error = Cases.fails(RecordDeserializationException.class, () -> ShareClients.next(consumer));
            Cases.same(2L, error.offset());
            consumer.commitSync(); // it is released
            error = Cases.fails(RecordDeserializationException.class, () -> ShareClients.next(consumer));
            Cases.same(2L, error.offset());
            for (var wrong : List.<Cases.Call>of(
                    () -> consumer.acknowledge("other", 0, 2, AcknowledgeType.REJECT),
                    () -> consumer.acknowledge(topic, 1, 2, AcknowledgeType.REJECT),
                    () -> consumer.acknowledge(topic, 0, 1, AcknowledgeType.REJECT))) {
                Cases.fails(IllegalStateException.class, wrong);
            }
            consumer.acknowledge(topic, 0, 2, AcknowledgeType.REJECT);
            ShareClients.commit(consumer);
            ShareClients.nothingMore(consumer);
        }
        ShareClients.lagBecomes(bootstrap, group, topic, 0);
    }

    // How much a poll has

    @Cases.Case
    static void aLimitOfRecords(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        Clients.send(bootstrap, topic, 20, "linger.ms", "1000");
        String[] five = {"max.poll.records", "5"};
        try (var consumer = ShareClients.worker(bootstrap, ShareClients.group(bootstrap), topic, five)) {
            Cases.same(20, ShareClients.next(consumer).size()); // whole batches
        }
        String[] strict = ShareClients.with(five, "share.acquire.mode", "record_limit");
        try (var consumer = ShareClients.worker(bootstrap, ShareClients.group(bootstrap), topic, strict)) {
            var done = new HashSet<Long>();
            for (int round = 0; done.size() < 20; round++) {
                var records = ShareClients.next(consumer);
                Cases.check(records.size() == 5 || (round > 1 && records.size() < 5), "" + records.size());
                for (var each : records) { // every second one of the first comes again
                    boolean ends = round > 1 || each.offset() % 2 == 0;
                    consumer.acknowledge(each, ends ? AcknowledgeType.ACCEPT : AcknowledgeType.RELEASE);
                    ShareClients.commit(consumer);
                    if (ends) {
                        done.add(each.offset());
                    }
                }
            }
            ShareClients.nothingMore(consumer);
        }
    }

    @Cases.Case
    static void smallerPartsBeforeTheLimit(String bootstrap) throws Exception {
        for (int limit : new int[] {2, 5, 10}) {
            String topic = Clients.topic(bootstrap);
            String group = ShareClients.group(bootstrap, "share.delivery.count.limit", "" + limit);
            Clients.send(bootstrap, topic, 32, "linger.ms", "1000");
            var sizes = new ArrayList<Integer>();
            var deliveries = new int[32];
            try (var consumer = ShareClients.worker(bootstrap, group, topic, "max.poll.records", "32")) {
                while (java.util.Arrays.stream(deliveries).sum() < 32 * limit) {
                    var records = ShareClients.next(consumer);
                    sizes.add(records.size());
                    records.forEach(each -> Cases.same(
                        (short) ++deliveries[(int) each.offset()], each.deliveryCount().get()));
                    ShareClients.say(consumer, records, AcknowledgeType.RELEASE);
                }
                ShareClients.nothingMore(consumer);
            }
            var whole = switch (limit) {
                case 2 -> List.of(32, 32);
                case 5 -> List.of(32, 32, 32, 16, 1);
                default -> List.of(32, 32, 32, 32, 32, 16, 8, 4, 2, 1);
            };
            Cases.same(whole, sizes.subList(0, limit));
        }
    }

    // How it ends

    @Cases.Case
    static void wokenAndInterrupted(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        Clients.send(bootstrap, topic, 1);
        try (var consumer = ShareClients.worker(bootstrap, ShareClients.group(bootstrap), topic)) {
            consumer.wakeup();
            Cases.fails(WakeupException.class, () -> consumer.poll(Duration.ZERO));
            Thread.currentThread().interrupt();
            Cases.fails(InterruptException.class, () -> consumer.poll(Duration.ZERO));
            Thread.interrupted();
            ShareClients.say(consumer, ShareClients.next(consumer), AcknowledgeType.ACCEPT);
        }
    }

    @Cases.Case
    static void closing(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        Clients.send(bootstrap, topic, 3);
        try (var consumer = ShareClients.worker(bootstrap, group, topic)) {
            var records = ShareClients.next(consumer);
            consumer.acknowledge(records.get(0), AcknowledgeType.ACCEPT);
            consumer.acknowledge(records.get(1), AcknowledgeType.RELEASE);
            consumer.commitSync();
        }
        try (var consumer = ShareClients.worker(bootstrap, group, topic)) {
            var records = ShareClients.read(consumer, 2);
            Cases.same(List.of(1L, 2L), ShareClients.offsets(records));
            Cases.same(List.of((short) 2, (short) 2), ShareClients.counts(records));
            records.forEach(consumer::acknowledge); // and the close sends it
        }
        ShareClients.lagBecomes(bootstrap, group, topic, 0);
    }

    @Cases.Case
    static void aChangeOfSubscriptionSaysWhatIsLeft(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String other = Clients.topic(bootstrap);
        Clients.send(bootstrap, topic, 1);
        Clients.send(bootstrap, other, 1);
        String group = ShareClients.group(bootstrap);
        try (var consumer = ShareClients.consumer(bootstrap, group)) {
            var told = new HashSet<String>();
            consumer.setAcknowledgementCommitCallback((all, error) -> {
                Cases.same(null, error);
                all.keySet().forEach(each -> told.add(each.topic()));
            });
            consumer.subscribe(Set.of(topic));
            ShareClients.next(consumer);
            consumer.subscribe(Set.of(other));
            ShareClients.until(() -> {
                consumer.poll(Duration.ofMillis(200));
                return told.equals(Set.of(topic, other));
            });
        }
        ShareClients.lagBecomes(bootstrap, group, topic, 0);
    }
}
