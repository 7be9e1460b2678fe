import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/**
 * Charges orders exactly once, with one thread: main(bootstrap, application id, state folder). It says which order it has taken.
 * A line adds a thread, for which the first one has to give up a partition; it commits by then, and at no time before.
 */
public final class RevokedTask {
    private RevokedTask() {}

    public static void main(String[] args) throws Exception {
        var settings = new Properties();
        settings.putAll(Map.of("bootstrap.servers", args[0], "application.id", args[1], "state.dir", args[2],
            "processing.guarantee", "exactly_once_v2", "commit.interval.ms", "600000", "num.stream.threads", "1"));
        settings.putAll(Map.of("consumer.auto.offset.reset", "earliest", "producer.transaction.timeout.ms", "700000", "consumer.heartbeat.interval.ms", "300",
            "producer.delivery.timeout.ms", "8000", "producer.request.timeout.ms", "5000", "producer.linger.ms", "0",
            "default.key.serde", Serdes.StringSerde.class.getName(), "default.value.serde", Serdes.StringSerde.class.getName()));
        var builder = new StreamsBuilder();
        builder.<String, String>stream("orders").peek((key, order) -> System.out.println("took " + order)).to("charges");
        var streams = new KafkaStreams(builder.build(), settings);
        streams.start();
        var lines = new BufferedReader(new InputStreamReader(System.in));
        while (lines.readLine() != null) {
            streams.addStreamThread();
        }
        streams.close();
    }
}
