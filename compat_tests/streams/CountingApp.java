import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts records by their value, exactly once: main(bootstrap, application id, state folder, from, to, settings...), a setting is
 * name=value. With "stateless" among them it only passes the values on.
 */
public final class CountingApp {
    private CountingApp() {}

    public static void main(String[] args) {
        var properties = new Properties();
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, args[2]);
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "50");
        properties.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        properties.put(StreamsConfig.consumerPrefix("session.timeout.ms"), "6000");
        properties.put(StreamsConfig.consumerPrefix("max.poll.records"), "50");
        var isStateless = false;
        for (var setting : Arrays.asList(args).subList(5, args.length)) {
            var parts = setting.split("=", 2);
            isStateless |= setting.equals("stateless");
            if (parts.length == 2) {
                properties.put(parts[0], parts[1]);
            }
        }
        var builder = new StreamsBuilder();
        var words = builder.stream(args[3], Consumed.with(Serdes.String(), Serdes.String()));
        var result = isStateless ? words : words.selectKey((key, value) -> value)
            .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
            .count()
            .toStream()
            .mapValues(count -> Long.toString(count));
        result.to(args[4], Produced.with(Serdes.String(), Serdes.String()));
        var streams = new KafkaStreams(builder.build(), properties);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }
}
