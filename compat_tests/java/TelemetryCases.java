import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Client telemetry (KIP-714) of Java's clients, which push their metrics unless they are told not to. */
final class TelemetryCases {
    private TelemetryCases() {}

    @Cases.Case
    static void clientsPushTheirMetrics(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 1, Map.of());
        var wait = Duration.ofSeconds(60);
        try (var producer = Clients.producer(bootstrap, "client.id", "java-producer", "compression.type", "lz4");
            var consumer = Clients.consumer(bootstrap, Clients.unique("group"), "client.id", "java-consumer");
            var silent = Clients.producer(bootstrap, "client.id", "java-silent", "enable.metrics.push", "false")) {
            consumer.subscribe(List.of(topic));
            for (int i = 0; i < 20; i++) {
                producer.send(new org.apache.kafka.clients.producer.ProducerRecord<>(topic, "k", "v" + i)).get();
                silent.send(new org.apache.kafka.clients.producer.ProducerRecord<>(topic, "k", "v" + i)).get();
                consumer.poll(Duration.ofMillis(50));
            }
            Cases.check(!producer.clientInstanceId(wait).equals(Uuid.ZERO_UUID), "a producer has an instance id");
            Cases.check(!consumer.clientInstanceId(wait).equals(Uuid.ZERO_UUID), "a consumer has an instance id");
        } // the last push comes with the close
    }
}
