import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;

/**
 * Joins and windows, exactly once: main(bootstrap, application id, state folder, prefix of the topics, order to stop at).
 * All topics have customers as keys. Orders meet the customer's city of their time (stream and table); orders meet
 * payments within ten seconds of them (two streams), or nothing, when that time is over; visits are counted by the minute,
 * each minute told once, when it is over. At the order to stop at, if there is one, the task says so and stands still with
 * its transaction open, until somebody kills the process.
 */
public final class JoiningApp {
    private JoiningApp() {}

    public static void main(String[] args) {
        var properties = new Properties();
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, args[2]);
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "50");
        properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
        // Unmatched orders are told as soon as event time has passed them, not once a second of the clock on the wall.
        properties.put(StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_OUTER_JOIN_SPURIOUS_RESULTS_FIX, 0L);
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        properties.put(StreamsConfig.consumerPrefix("session.timeout.ms"), "6000");
        properties.put(StreamsConfig.consumerPrefix("max.poll.records"), "50");
        var streams = new KafkaStreams(topology(args[3], args.length > 4 ? args[4] : null).build(), properties);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }

    private static StreamsBuilder topology(String prefix, String last) {
        var builder = new StreamsBuilder();
        KStream<String, String> orders =
            builder.<String, String>stream(prefix + "orders").peek((customer, order) -> {
                if (order.equals(last)) {
                    standStill(order);
                }
            });
        KStream<String, String> payments = builder.stream(prefix + "payments");
        orders.join(builder.<String, String>table(prefix + "cities"), (order, city) -> order + " " + city)
            .to(prefix + "located");
        orders.leftJoin(
                payments,
                (order, payment) -> order + " " + payment,
                JoinWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(10), Duration.ofSeconds(5)))
            .to(prefix + "paid");
        builder.<String, String>stream(prefix + "visits")
            .groupByKey(Grouped.with(Serdes.String(), Serdes.String())) // suppress() takes no default
            .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMinutes(1), Duration.ofSeconds(5)))
            .count()
            .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))
            .toStream((window, count) -> window.key() + "@" + window.window().start())
            .mapValues(count -> Long.toString(count))
            .to(prefix + "minutes", Produced.with(Serdes.String(), Serdes.String()));
        return builder;
    }

    private static void standStill(String order) {
        System.out.println("stands still at " + order);
        while (true) {
            LockSupport.park();
        }
    }
}
