import java.nio.file.Files;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/** The payers of ExactlyOnce as one application of Kafka Streams with two threads. */
final class StreamsPayer {
    private StreamsPayer() {}

    static void pay(Properties settings, AtomicBoolean isOver) throws Exception {
        var folder = Files.createTempDirectory("exactly-once-");
        settings.putAll(Map.of("application.id", "payers", "processing.guarantee", "exactly_once_v2", "commit.interval.ms", "100",
            "num.stream.threads", "2", "state.dir", folder.toString(), "replication.factor", "3"));
        settings.putAll(Map.of("consumer.auto.offset.reset", "earliest", "consumer.session.timeout.ms", "3000",
            "consumer.heartbeat.interval.ms", "300", "consumer.max.poll.records", "7", "producer.transaction.timeout.ms", "5000",
            "producer.delivery.timeout.ms", "4000", "producer.linger.ms", "0", "producer.max.block.ms", "20000",
            "default.key.serde", Serdes.StringSerde.class.getName(), "default.value.serde", Serdes.StringSerde.class.getName()));
        var builder = new StreamsBuilder();
        var charged = builder.stream("orders");
        charged.to("charges");
        charged.to("receipts");
        try (var streams = new KafkaStreams(builder.build(), settings)) {
            streams.setUncaughtExceptionHandler(error -> StreamThreadExceptionResponse.REPLACE_THREAD);
            streams.start();
            while (!isOver.get()) {
                Thread.sleep(20);
            }
        }
    }
}
