import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** What a Java client of 2019 does with the broker. */
final class OldClientCases {
    private OldClientCases() {}

    // ---- clients

    static Properties properties(String bootstrap, String... pairs) {
        var properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        for (int i = 0; i < pairs.length; i += 2) {
            properties.put(pairs[i], pairs[i + 1]);
        }
        return properties;
    }

    static KafkaProducer<String, String> producer(String bootstrap, String... pairs) {
        return new KafkaProducer<>(properties(bootstrap, pairs), new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String bootstrap, String group) {
        var properties = properties(bootstrap, "auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "group.id", group, "heartbeat.interval.ms", "100");
        return new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }

    static String unique(String what) {
        return "old-" + what + "-" + UUID.randomUUID();
    }

    static String topic(String bootstrap, int partitions, Map<String, String> configs) throws Exception {
        String topic = unique("topic");
        try (var admin = AdminClient.create(properties(bootstrap))) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1).configs(configs))).all().get();
        }
        return topic;
    }

    static void send(String bootstrap, String topic, int count, String... pairs) throws Exception {
        try (var producer = producer(bootstrap, pairs)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                sent.add(producer.send(new ProducerRecord<>(topic, "key" + i % 10, "value" + i)));
            }
            for (var each : sent) {
                each.get();
            }
        }
    }

    static List<ConsumerRecord<String, String>> read(KafkaConsumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        long deadline = System.currentTimeMillis() + 60_000;
        while (records.size() < count && System.currentTimeMillis() < deadline) {
            consumer.poll(Duration.ofMillis(100)).forEach(records::add);
        }
        Cases.same(count, records.size());
        return records;
    }

    static void roundTrip(String bootstrap, String... pairs) throws Exception {
        String topic = topic(bootstrap, 1, Map.of());
        send(bootstrap, topic, 300, pairs);
        try (var consumer = consumer(bootstrap, unique("group"))) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            var values = read(consumer, 300).stream().map(ConsumerRecord::value).collect(Collectors.toList());
            for (int i = 0; i < 300; i++) {
                Cases.same("value" + i, values.get(i));
            }
        }
    }

    // ---- data

    @Cases.Case
    static void codecGzip(String bootstrap) throws Exception {
        roundTrip(bootstrap, "compression.type", "gzip", "linger.ms", "20");
    }

    @Cases.Case
    static void codecSnappy(String bootstrap) throws Exception {
        roundTrip(bootstrap, "compression.type", "snappy", "linger.ms", "20");
    }

    @Cases.Case
    static void codecLz4(String bootstrap) throws Exception {
        roundTrip(bootstrap, "compression.type", "lz4", "linger.ms", "20");
    }

    @Cases.Case
    static void codecZstd(String bootstrap) throws Exception {
        roundTrip(bootstrap, "compression.type", "zstd", "linger.ms", "20");
    }

    @Cases.Case
    static void acksZero(String bootstrap) throws Exception {
        roundTrip(bootstrap, "acks", "0");
    }

    @Cases.Case
    static void acksAllIdempotent(String bootstrap) throws Exception {
        roundTrip(bootstrap, "acks", "all", "enable.idempotence", "true", "batch.size", "200");
    }

    @Cases.Case
    static void headersAndTimestamp(String bootstrap) throws Exception {
        String topic = topic(bootstrap, 1, Map.of());
        try (var producer = producer(bootstrap); var consumer = consumer(bootstrap, unique("group"))) {
            var record = new ProducerRecord<>(topic, 0, 1_600_000_000_123L, "k", (String) null);
            record.headers().add("trace", new byte[] {0, -1}).add("trace", new byte[0]);
            Cases.same(0L, producer.send(record).get().offset());
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            var found = read(consumer, 1).get(0);
            Cases.same(null, found.value());
            Cases.same(1_600_000_000_123L, found.timestamp());
            Cases.same(record.headers(), found.headers());
        }
    }

    @Cases.Case
    static void tooLargeForTheTopic(String bootstrap) throws Exception {
        String topic = topic(bootstrap, 1, Map.of("max.message.bytes", "1000"));
        try (var producer = producer(bootstrap)) {
            var large = new ProducerRecord<>(topic, "k", "x".repeat(5000));
            Cases.fails(RecordTooLargeException.class, () -> producer.send(large).get());
        }
    }

    @Cases.Case
    static void topicIsCreatedByProducing(String bootstrap) throws Exception {
        send(bootstrap, unique("auto"), 1);
    }

    @Cases.Case
    static void offsetsByTime(String bootstrap) throws Exception {
        String topic = topic(bootstrap, 1, Map.of());
        var partition = new TopicPartition(topic, 0);
        try (var producer = producer(bootstrap, "linger.ms", "50"); var consumer = consumer(bootstrap, unique("group"))) {
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
    static void seekAndPause(String bootstrap) throws Exception {
        String topic = topic(bootstrap, 2, Map.of());
        var first = new TopicPartition(topic, 0);
        var second = new TopicPartition(topic, 1);
        try (var producer = producer(bootstrap); var consumer = consumer(bootstrap, unique("group"))) {
            for (int i = 0; i < 10; i++) {
                producer.send(new ProducerRecord<>(topic, i % 2, "k", "v" + i));
            }
            producer.flush();
            consumer.assign(List.of(first, second));
            consumer.pause(List.of(second));
            consumer.seek(first, 3);
            Cases.same(List.of(3L, 4L), read(consumer, 2).stream().map(ConsumerRecord::offset).collect(Collectors.toList()));
            consumer.resume(List.of(second));
            Cases.same(5, read(consumer, 5).size());
        }
    }

    // ---- groups

    @Cases.Case
    static void groupCommitsAndResumes(String bootstrap) throws Exception {
        String topic = topic(bootstrap, 1, Map.of());
        String group = unique("group");
        send(bootstrap, topic, 10);
        try (var consumer = consumer(bootstrap, group)) {
            consumer.subscribe(List.of(topic));
            read(consumer, 10);
            consumer.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(6, "six")));
            Cases.same("six", consumer.committed(new TopicPartition(topic, 0)).metadata());
        }
        try (var consumer = consumer(bootstrap, group)) {
            consumer.subscribe(List.of(topic));
            Cases.same(6L, read(consumer, 4).get(0).offset());
        }
    }

    @Cases.Case
    static void groupSharesPartitions(String bootstrap) throws Exception {
        String topic = topic(bootstrap, 4, Map.of());
        String group = unique("group");
        try (var one = consumer(bootstrap, group); var two = consumer(bootstrap, group)) {
            one.subscribe(List.of(topic));
            pollUntil(one, 4);
            var other = new Thread(() -> {
                two.subscribe(List.of(topic));
                pollUntil(two, 2);
            });
            other.start();
            pollUntil(one, 2);
            other.join(20_000);
            var taken = new HashSet<>(one.assignment());
            taken.addAll(two.assignment());
            Cases.same(4, taken.size());
        }
    }

    static void pollUntil(KafkaConsumer<String, String> consumer, int size) {
        long deadline = System.currentTimeMillis() + 60_000;
        while (consumer.assignment().size() != size && System.currentTimeMillis() < deadline) {
            consumer.poll(Duration.ofMillis(50));
        }
        Cases.same(size, consumer.assignment().size());
    }

    // ---- admin

    @Cases.Case
    static void adminOfTopics(String bootstrap) throws Exception {
        String topic = topic(bootstrap, 1, Map.of("retention.ms", "60000"));
        try (var admin = AdminClient.create(properties(bootstrap))) {
            var again = List.of(new NewTopic(topic, 1, (short) 1));
            Cases.fails(TopicExistsException.class, () -> admin.createTopics(again).all().get());
            var wrong = List.of(new NewTopic(unique("t"), 1, (short) 1).configs(Map.of("retention.ms", "soon")));
            Cases.fails(InvalidConfigurationException.class, () -> admin.createTopics(wrong).all().get());
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
            Cases.same(3, admin.describeTopics(List.of(topic)).all().get().get(topic).partitions().size());
            var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            var configs = admin.describeConfigs(List.of(resource)).all().get().get(resource);
            Cases.same("60000", configs.get("retention.ms").value());
            Cases.same(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, configs.get("retention.ms").source());
            admin.alterConfigs(Map.of(resource, new Config(List.of(new ConfigEntry("segment.bytes", "2000000"))))).all().get();
            configs = admin.describeConfigs(List.of(resource)).all().get().get(resource);
            Cases.same("2000000", configs.get("segment.bytes").value());
            Cases.check(configs.get("retention.ms").isDefault(), "alterConfigs replaces everything");
            admin.deleteTopics(List.of(topic)).all().get();
            Cases.check(!admin.listTopics().names().get().contains(topic), "a deleted topic is still listed");
        }
    }

    @Cases.Case
    static void adminOfRecordsAndGroups(String bootstrap) throws Exception {
        String topic = topic(bootstrap, 1, Map.of());
        String group = unique("group");
        var partition = new TopicPartition(topic, 0);
        send(bootstrap, topic, 10);
        try (var admin = AdminClient.create(properties(bootstrap))) {
            var deleted = admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(4)));
            Cases.same(4L, deleted.lowWatermarks().get(partition).get().lowWatermark());
            try (var consumer = consumer(bootstrap, group)) {
                consumer.subscribe(List.of(topic));
                Cases.same(4L, read(consumer, 6).get(0).offset());
                consumer.commitSync();
                var described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
                Cases.same("Stable", described.state().toString());
                Cases.same(Set.of(partition), described.members().iterator().next().assignment().topicPartitions());
            }
            var offsets = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
            Cases.same(10L, offsets.get(partition).offset());
            var groups = admin.listConsumerGroups().all().get();
            Cases.check(groups.stream().anyMatch(each -> each.groupId().equals(group)), "the group is not listed");
            admin.deleteConsumerGroups(List.of(group)).all().get();
            Cases.same(1, admin.describeCluster().nodes().get().size());
            int node = admin.describeCluster().controller().get().id();
            var logDirs = admin.describeLogDirs(Collections.singleton(node)).all().get().get(node);
            Cases.check(logDirs.values().iterator().next().replicaInfos.containsKey(partition), "no such partition in the log folder");
        }
    }
}
