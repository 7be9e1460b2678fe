import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupMaxSizeReachedException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InvalidConfigurationException;

/** Share groups, their settings and their topics: the subjects of Kafka's own ShareConsumerTest. */
final class ShareGroupCases {
    private ShareGroupCases() {}

    // Which records

    @Cases.Case
    static void controlRecordsAreNotDelivered(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        try (var producer = transactional(bootstrap)) {
            transaction(producer, topic, "1", true);
            Clients.send(bootstrap, topic, 1);
            transaction(producer, topic, "2", false);
            Clients.send(bootstrap, topic, 1);
        }
        try (var consumer = ShareClients.worker(bootstrap, ShareClients.group(bootstrap), topic)) {
            var records = ShareClients.read(consumer, 4);
            Cases.same(List.of(0L, 2L, 3L, 5L), ShareClients.offsets(records)); // uncommitted by default
            ShareClients.say(consumer, records, AcknowledgeType.ACCEPT);
            ShareClients.nothingMore(consumer);
        }
    }

    @Cases.Case
    static void isolationLevels(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap, "share.isolation.level", "read_committed");
        try (var producer = transactional(bootstrap); var consumer = ShareClients.worker(bootstrap, group, topic)) {
            for (int i = 1; i <= 10; i++) {
                transaction(producer, topic, "" + i, i % 5 != 0);
            }
            var records = all(consumer, 8, AcknowledgeType.ACCEPT);
            Cases.same(List.of("1", "2", "3", "4", "6", "7", "8", "9"), records);
            ShareClients.alter(bootstrap, group, "share.isolation.level", "read_uncommitted");
            transaction(producer, topic, "11", true);
            transaction(producer, topic, "12", false);
            Cases.same(List.of("11", "12"), all(consumer, 2, AcknowledgeType.RELEASE)); // and both come again
            ShareClients.alter(bootstrap, group, "share.isolation.level", "read_committed");
            transaction(producer, topic, "13", true);
            Cases.same(Set.of("11", "13"), Set.copyOf(all(consumer, 2, AcknowledgeType.ACCEPT)));
            ShareClients.nothingMore(consumer);
        }
        ShareClients.lagBecomes(bootstrap, group, topic, 0);
    }

    private static KafkaProducer<String, String> transactional(String bootstrap) {
        var producer = Clients.producer(bootstrap, "transactional.id", Clients.unique("transactional"));
        producer.initTransactions();
        return producer;
    }

    private static void transaction(KafkaProducer<String, String> producer, String topic, String value, boolean commits) {
        producer.beginTransaction();
        producer.send(new ProducerRecord<>(topic, value));
        producer.flush();
        if (commits) {
            producer.commitTransaction();
        } else {
            producer.abortTransaction();
        }
    }

    /** The values of so many records, which are said to be done or released. */
    private static List<String> all(KafkaShareConsumer<String, String> consumer, int count, AcknowledgeType type) {
        var values = new ArrayList<String>();
        while (values.size() < count) {
            var records = ShareClients.next(consumer);
            values.addAll(ShareClients.values(records));
            ShareClients.say(consumer, records, type);
        }
        return values;
    }

    @Cases.Case
    static void whereGroupsBegin(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        long now = System.currentTimeMillis();
        try (var producer = Clients.producer(bootstrap)) {
            for (long minutes : new long[] {120, 30, 0}) {
                producer.send(new ProducerRecord<>(topic, 0, now - minutes * 60_000, null, "" + minutes)).get();
            }
        }
        String latest = Clients.unique("share");
        String hour = ShareClients.group(bootstrap, "share.auto.offset.reset", "by_duration:PT1H");
        String hours = ShareClients.group(bootstrap, "share.auto.offset.reset", "by_duration:PT3H");
        try (var atEnd = ShareClients.worker(bootstrap, latest, topic);
                var inHour = ShareClients.worker(bootstrap, hour, topic);
                var inHours = ShareClients.worker(bootstrap, hours, topic);
                var atStart = ShareClients.worker(bootstrap, ShareClients.group(bootstrap), topic)) {
            Cases.same(List.of("30", "0"), all(inHour, 2, AcknowledgeType.ACCEPT));
            Cases.same(List.of("120", "30", "0"), all(inHours, 3, AcknowledgeType.ACCEPT));
            Cases.same(List.of("120", "30", "0"), all(atStart, 3, AcknowledgeType.ACCEPT));
            ShareClients.until(() -> { // it begins with its first fetch that the broker answers
                Cases.same(0, atEnd.poll(Duration.ofMillis(300)).count());
                try {
                    ShareClients.assigned(bootstrap, latest, 1);
                    return true;
                } catch (Exception | AssertionError notYet) {
                    return false;
                }
            });
            ShareClients.nothingMore(atEnd);
            int sent = 0;
            List<ConsumerRecord<String, String>> late = List.of();
            for (; late.isEmpty(); sent++) { // what is written before that answer is not for it
                Cases.check(sent < 100, "nothing comes to who begins at the end");
                Clients.send(bootstrap, topic, 1);
                late = ShareClients.polled(atEnd);
            }
            Cases.same(Set.of("value0"), Set.copyOf(ShareClients.values(late)));
            ShareClients.say(atEnd, late, AcknowledgeType.ACCEPT);
            Cases.same(Collections.nCopies(sent, "value0"), all(atStart, sent, AcknowledgeType.ACCEPT));
        }
        for (String wrong : List.of("by_duration:1h", "by_duration:-PT1H", "middle")) {
            Cases.fails(InvalidConfigurationException.class,
                () -> ShareClients.alter(bootstrap, hour, "share.auto.offset.reset", wrong));
        }
    }

    @Cases.Case
    static void recordsAreDeleted(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        Clients.send(bootstrap, topic, 10);
        ShareClients.deleteRecords(bootstrap, topic, 5);
        try (var consumer = ShareClients.worker(bootstrap, group, topic)) {
            var records = ShareClients.read(consumer, 5);
            Cases.same(List.of(5L, 6L, 7L, 8L, 9L), ShareClients.offsets(records));
            ShareClients.say(consumer, records, AcknowledgeType.RELEASE);
        }
        // Of a batch whose beginning is deleted Apache Kafka delivers the whole, once it was read anew; each is one here.
        Clients.send(bootstrap, topic, 5, "batch.size", "0");
        ShareClients.deleteRecords(bootstrap, topic, 14);
        try (var consumer = ShareClients.worker(bootstrap, group, topic)) {
            Cases.same(List.of("value4"), all(consumer, 1, AcknowledgeType.ACCEPT));
            ShareClients.deleteRecords(bootstrap, topic, 15);
            ShareClients.nothingMore(consumer);
        }
    }

    // Topics come and go

    @Cases.Case
    static void topicsComeAndGo(String bootstrap) throws Exception {
        String stays = Clients.topic(bootstrap);
        String comes = Clients.unique("topic");
        String group = ShareClients.group(bootstrap);
        try (var admin = Clients.admin(bootstrap); var consumer = ShareClients.consumer(bootstrap, group)) {
            consumer.subscribe(List.of(stays, comes));
            Clients.send(bootstrap, stays, 1);
            ShareClients.next(consumer);
            admin.createTopics(List.of(new org.apache.kafka.clients.admin.NewTopic(comes, 1, (short) 1))).all().get();
            Clients.send(bootstrap, comes, 1);
            Cases.same(comes, ShareClients.next(consumer).get(0).topic());
            consumer.commitSync();
            admin.deleteTopics(List.of(comes)).all().get();
            for (int i = 0; i < 2; i++) {
                Clients.send(bootstrap, stays, 1);
                Cases.same(stays, ShareClients.next(consumer).get(0).topic());
            }
        }
    }

    // Groups

    @Cases.Case
    static void groupsAreApart(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        try (var one = ShareClients.worker(bootstrap, ShareClients.group(bootstrap), topic);
                var other = ShareClients.worker(bootstrap, ShareClients.group(bootstrap), topic)) {
            Clients.send(bootstrap, topic, 3);
            Cases.same(List.of("value0", "value1", "value2"), all(one, 3, AcknowledgeType.ACCEPT));
            Clients.send(bootstrap, topic, 2);
            Cases.same(List.of("value0", "value1"), all(one, 2, AcknowledgeType.ACCEPT));
            var five = List.of("value0", "value1", "value2", "value0", "value1");
            Cases.same(five, all(other, 5, AcknowledgeType.ACCEPT));
            ShareClients.nothingMore(one);
            ShareClients.nothingMore(other);
        }
    }

    @Cases.Case
    static void manyMembersAtOnce(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        int records = 2000;
        var groups = List.of(ShareClients.group(bootstrap), ShareClients.group(bootstrap));
        var seen = List.of(
            Collections.synchronizedSet(new TreeSet<Long>()), Collections.synchronizedSet(new TreeSet<Long>()));
        var deliveries = List.of(new AtomicInteger(), new AtomicInteger());
        var running = new ArrayList<CompletableFuture<Void>>();
        try (var first = ShareClients.worker(bootstrap, groups.get(0), topic)) { // it leaves with what it has
            Clients.send(bootstrap, topic, records, "batch.size", "500");
            ShareClients.next(first);
        }
        for (int number = 0; number < 4; number++) {
            int index = number % 2;
            running.add(CompletableFuture.runAsync(() -> {
                try (var consumer = ShareClients.consumer(bootstrap, groups.get(index), "max.poll.records", "100")) {
                    consumer.subscribe(List.of(topic));
                    while (seen.get(index).size() < records) {
                        consumer.poll(Duration.ofMillis(200)).forEach(each -> {
                            seen.get(index).add(each.offset());
                            deliveries.get(index).incrementAndGet();
                        });
                        consumer.commitSync();
                    }
                }
            }));
        }
        for (var each : running) {
            each.get(60, TimeUnit.SECONDS);
        }
        deliveries.forEach(each -> Cases.same(records, each.get())); // none twice
        for (String group : groups) {
            ShareClients.lagBecomes(bootstrap, group, topic, 0);
        }
    }

    @Cases.Case
    static void aGroupIsFull(String bootstrap) throws Exception { // group.share.max.size is 5
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        var members = new ArrayList<KafkaShareConsumer<String, String>>();
        try {
            for (int i = 0; i < 5; i++) {
                members.add(ShareClients.worker(bootstrap, group, topic));
                members.get(i).poll(Duration.ofMillis(100));
                ShareClients.assigned(bootstrap, group, i + 1);
            }
            try (var one = ShareClients.worker(bootstrap, group, topic)) {
                Cases.fails(GroupMaxSizeReachedException.class, () -> one.poll(Duration.ofSeconds(60)));
            }
            Clients.send(bootstrap, topic, 1);
            ShareClients.until(() -> members.stream().anyMatch(each -> each.poll(Duration.ofMillis(50)).count() == 1));
        } finally {
            members.forEach(each -> each.close(Duration.ofSeconds(5)));
        }
    }

    @Cases.Case
    static void lags(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        try (var admin = Clients.admin(bootstrap);
                var one = ShareClients.worker(bootstrap, group, topic);
                var other = ShareClients.worker(bootstrap, group, topic)) {
            one.poll(Duration.ofMillis(1000));
            other.poll(Duration.ofMillis(100));
            var before = ShareClients.info(admin, group, topic); // nothing was acknowledged yet
            Cases.check(before == null, "" + before);
            for (var type : List.of(AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT)) {
                Clients.send(bootstrap, topic, 1);
                var who = new ArrayList<KafkaShareConsumer<String, String>>();
                ShareClients.until(() -> {
                    for (var each : List.of(one, other)) {
                        each.poll(Duration.ofMillis(100)).forEach(record -> {
                            each.acknowledge(record, type);
                            who.add(each);
                        });
                    }
                    return !who.isEmpty();
                });
                ShareClients.commit(who.get(0));
                ShareClients.lagBecomes(bootstrap, group, topic, type == AcknowledgeType.RELEASE ? 1 : 0);
                if (type == AcknowledgeType.RELEASE) {
                    who.clear();
                    ShareClients.until(() -> {
                        for (var each : List.of(one, other)) {
                            each.poll(Duration.ofMillis(100)).forEach(record -> {
                                each.acknowledge(record, AcknowledgeType.ACCEPT);
                                who.add(each);
                            });
                        }
                        return !who.isEmpty();
                    });
                    ShareClients.commit(who.get(0));
                    ShareClients.lagBecomes(bootstrap, group, topic, 0);
                }
            }
        }
    }

    @Cases.Case
    static void aGroupIsDeletedAndBeginsAnew(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        Clients.send(bootstrap, topic, 3);
        try (var admin = Clients.admin(bootstrap)) {
            try (var consumer = ShareClients.worker(bootstrap, group, topic)) {
                all(consumer, 3, AcknowledgeType.ACCEPT);
                Cases.fails(GroupNotEmptyException.class, () -> admin.deleteShareGroups(List.of(group)).all().get());
                Cases.fails(GroupNotEmptyException.class, () -> admin.deleteShareGroupOffsets(group, Set.of(topic)).all().get());
                Cases.fails(GroupNotEmptyException.class, () -> admin.alterShareGroupOffsets(
                    group, Map.of(new org.apache.kafka.common.TopicPartition(topic, 0), 0L)).all().get());
            }
            Cases.soon(() -> admin.deleteShareGroups(List.of(group)).all().get());
            Cases.fails(GroupIdNotFoundException.class, () -> admin.describeShareGroups(List.of(group)).all().get());
        }
        try (var consumer = ShareClients.worker(bootstrap, group, topic)) {
            var records = ShareClients.read(consumer, 3);
            Cases.same(List.of((short) 1, (short) 1, (short) 1), ShareClients.counts(records));
            ShareClients.say(consumer, records, AcknowledgeType.ACCEPT);
        }
    }

    @Cases.Case
    static void aLowerLimitCountsAtOnce(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        Clients.send(bootstrap, topic, 1);
        try (var consumer = ShareClients.worker(bootstrap, group, topic)) {
            for (int i = 1; i <= 3; i++) {
                var records = ShareClients.next(consumer);
                Cases.same(List.of((short) i), ShareClients.counts(records));
                if (i == 3) {
                    ShareClients.alter(bootstrap, group, "share.delivery.count.limit", "2");
                }
                ShareClients.say(consumer, records, AcknowledgeType.RELEASE);
            }
            ShareClients.nothingMore(consumer);
        }
        ShareClients.lagBecomes(bootstrap, group, topic, 0);
    }
}
