import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** JUnit 5 and Java 17, with kafka-clients on the class path and pykbroker on the PATH. */
class OrdersTest {
    private static Process broker;
    private static String bootstrap;

    /** The code under test. */
    private static void placeOrder(String customer, String item) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>("orders", customer, item)).get();
        }
    }

    @BeforeAll
    static void startBroker() throws IOException {
        broker = new ProcessBuilder("pykbroker", "serve", "--ephemeral", "--listen", "127.0.0.1:0", "--json", "--exit-with-parent")
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

    @Test
    void anOrderIsPlaced() throws Exception {
        placeOrder("customer-7", "book");

        Map<String, Object> settings =
                Map.of("bootstrap.servers", bootstrap, "group.id", "test", "auto.offset.reset", "earliest");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("orders"));
            ConsumerRecords<String, String> records = ConsumerRecords.empty();
            while (records.isEmpty()) records = consumer.poll(Duration.ofSeconds(1));
            var order = records.iterator().next();
            assertEquals("customer-7", order.key());
            assertEquals("book", order.value());
        }
    }
}
