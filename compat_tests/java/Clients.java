import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Clients, names and waits that the cases share. */
final class Clients {
    private static final long LIMIT_MS = 60_000;

    private Clients() {}

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

    /** Reads from the beginning, commits only when told, beats ten times a second. */
    static KafkaConsumer<String, String> consumer(String bootstrap, String group, String... pairs) {
        var properties = properties(bootstrap, "auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "group.id", group, "heartbeat.interval.ms", "100");
        properties.putAll(properties(bootstrap, pairs));
        return new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }

    static Admin admin(String bootstrap) {
        return Admin.create(properties(bootstrap));
    }

    static String unique(String what) {
        return "java-" + what + "-" + UUID.randomUUID();
    }

    static String topic(String bootstrap, int partitions, Map<String, String> configs) throws Exception {
        String topic = unique("topic");
        try (var admin = admin(bootstrap)) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1).configs(configs))).all().get();
            Cases.soon(() -> admin.describeTopics(List.of(topic)).allTopicNames().get());
        }
        return topic;
    }

    static String topic(String bootstrap) throws Exception {
        return topic(bootstrap, 1, Map.of());
    }

    /** Sends value0, value1, ... with keys key0 to key9 in turn. */
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
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (records.size() < count && System.currentTimeMillis() < deadline) {
            consumer.poll(Duration.ofMillis(100)).forEach(records::add);
        }
        Cases.same(count, records.size());
        return records;
    }

    static List<Long> offsets(List<ConsumerRecord<String, String>> records) {
        return records.stream().map(ConsumerRecord::offset).toList();
    }

    /** Polls all consumers in turn from this thread until the condition holds. */
    @SafeVarargs
    static void pollUntil(BooleanSupplier condition, KafkaConsumer<String, String>... consumers) {
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (!condition.getAsBoolean()) {
            Cases.check(System.currentTimeMillis() < deadline, "the group did not reach the expected state");
            for (var consumer : consumers) {
                consumer.poll(Duration.ofMillis(30));
            }
        }
    }
}
