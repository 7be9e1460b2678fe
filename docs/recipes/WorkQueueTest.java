import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A share group as a work queue. JUnit 5 and Java 17, with kafka-clients 4.4 on the class path and pykbroker on the PATH. */
@Timeout(120)
class WorkQueueTest {
    private static Process broker;
    private static String bootstrap;

    /** What fails now and may not fail later. */
    static class NotNow extends RuntimeException {}

    /** The code under test: a worker, which ends when it has said of so many deliveries what became of them. */
    private static void work(String group, String topic, int deliveries, Consumer<String> job) {
        var properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("group.id", group);
        properties.put("share.acknowledgement.mode", "explicit");
        try (var consumer = new KafkaShareConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (deliveries > 0) {
                for (var record : consumer.poll(Duration.ofSeconds(1))) {
                    try {
                        job.accept(record.value());
                        consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                    } catch (NotNow later) {
                        consumer.acknowledge(record, AcknowledgeType.RELEASE); // any worker gets it again
                    } catch (RuntimeException never) {
                        consumer.acknowledge(record, AcknowledgeType.REJECT); // nobody gets it again
                    }
                    deliveries--;
                }
                consumer.commitSync();
            }
        }
    }

    @Test
    void aJobThatFailsIsTriedAgain() throws Exception {
        configure("work", "share.auto.offset.reset", "earliest", "share.delivery.count.limit", "3");
        send("jobs", "mail", "print", "pay");

        var tried = new ArrayList<String>();
        work("work", "jobs", 4, job -> {
            tried.add(job);
            if (job.equals("print") && tried.indexOf(job) == tried.size() - 1) throw new NotNow(); // out of paper
        });

        assertEquals(List.of("mail", "print", "pay", "print"), tried);
    }

    @Test
    void aPoisonMessageIsPutAsideAfterThreeDeliveries() throws Exception {
        configure("bills", "share.auto.offset.reset", "earliest", "share.delivery.count.limit", "3",
            "errors.deadletterqueue.topic.name", "dlq.bills", "errors.deadletterqueue.copy.record.enable", "true");
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            var letters = new NewTopic("dlq.bills", 1, (short) 1).configs(Map.of("errors.deadletterqueue.group.enable", "true"));
            admin.createTopics(List.of(letters)).all().get();
        }
        send("bills", "poison", "good");

        var done = new ArrayList<String>();
        work("bills", "bills", 4, bill -> { // three of the poison, one of the other
            if (bill.equals("poison")) throw new NotNow(); // whoever wrote this believes that it passes
            done.add(bill);
        });

        assertEquals(List.of("good"), done);
        var letter = first("dlq.bills");
        assertEquals("poison", letter.value());
        assertEquals("bills", header(letter, "__dlq.errors.topic"));
        assertEquals("0", header(letter, "__dlq.errors.offset"));
        assertEquals("3", header(letter, "__dlq.errors.delivery.count"));
    }

    @BeforeAll
    static void startBroker() throws IOException {
        broker = new ProcessBuilder("pykbroker", "serve", "--ephemeral", "--listen", "127.0.0.1:0", "--json", "--exit-with-parent",
                "--set", "group.share.min.heartbeat.interval.ms=200", "--set", "group.share.heartbeat.interval.ms=200")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
        String ready = broker.inputReader().readLine(); // null if it ended: its last words are above
        var found = Pattern.compile("\"bootstrap\": \"([^\"]+)\"").matcher(String.valueOf(ready));
        if (!found.find()) throw new IllegalStateException("the broker is not ready: " + ready);
        bootstrap = found.group(1);
    }

    @AfterAll
    static void stopBroker() throws InterruptedException {
        broker.destroy(); // it stops cleanly, and its folder is removed
        broker.waitFor();
    }

    /** Settings of a group, which need not exist yet: name, value, name, value. */
    private static void configure(String group, String... settings) throws Exception {
        var changes = new ArrayList<AlterConfigOp>();
        for (int i = 0; i < settings.length; i += 2) {
            changes.add(new AlterConfigOp(new ConfigEntry(settings[i], settings[i + 1]), AlterConfigOp.OpType.SET));
        }
        Map<ConfigResource, Collection<AlterConfigOp>> all = Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), changes);
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.incrementalAlterConfigs(all).all().get();
        }
    }

    private static void send(String topic, String... values) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (var value : values) producer.send(new ProducerRecord<>(topic, 0, null, value)).get();
        }
    }

    private static ConsumerRecord<String, String> first(String topic) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            var partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            while (true) {
                for (var record : consumer.poll(Duration.ofSeconds(1))) return record;
            }
        }
    }

    private static String header(ConsumerRecord<String, String> record, String name) {
        return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }
}
