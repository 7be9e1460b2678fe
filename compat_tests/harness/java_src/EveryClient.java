import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Creates a topic, produces and reads a record: what it loads is what the tests' programs load. */
public class EveryClient {
    public static void main(String[] args) throws Exception {
        String topic = "every-client";
        Map<String, Object> where = Map.of("bootstrap.servers", args[0], "group.id", topic, "auto.offset.reset", "earliest");
        try (Admin admin = Admin.create(where)) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        }
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(where, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, "value")).get();
        }
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(where, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (consumer.poll(Duration.ofSeconds(1)).isEmpty()) { }
        }
    }
}
