import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Lines in: "produce|consume bootstrap topic group". Lines out: what was read, or "ERROR" and why. */
public final class RoundTrips {
    private RoundTrips() {}

    public static void main(String[] args) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split(" ");
            String answer;
            try {
                answer = words[0].equals("produce") ? produce(words[1], words[2]) : consume(words[1], words[2], words[3]);
            } catch (Exception error) {
                answer = "ERROR " + (error + " " + error.getCause()).replace('\n', ' ');
            }
            System.out.println(answer);
            System.out.flush();
        }
    }

    private static Properties properties(String bootstrap) {
        var properties = new Properties();
        properties.putAll(Map.of("bootstrap.servers", bootstrap, "client.id", "app", "request.timeout.ms", "1500",
            "retry.backoff.ms", "10", "reconnect.backoff.ms", "10", "reconnect.backoff.max.ms", "50"));
        return properties;
    }

    private static String produce(String bootstrap, String topic) throws Exception {
        var properties = properties(bootstrap);
        properties.putAll(Map.of("linger.ms", "0", "delivery.timeout.ms", "8000", "max.block.ms", "8000"));
        try (var producer = new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, "v")).get();
            return "v";
        } catch (ExecutionException error) {
            return "ERROR " + error.getCause();
        }
    }

    private static String consume(String bootstrap, String topic, String group) {
        var properties = properties(bootstrap);
        properties.putAll(Map.of("group.id", group, "auto.offset.reset", "earliest", "fetch.max.wait.ms", "200",
            "enable.auto.commit", "false", "default.api.timeout.ms", "30000"));
        try (var consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            long ends = System.currentTimeMillis() + 60_000;
            while (System.currentTimeMillis() < ends) {
                for (var record : consumer.poll(Duration.ofMillis(100))) {
                    consumer.commitSync();
                    return record.value();
                }
            }
            return "ERROR nothing came";
        }
    }
}
