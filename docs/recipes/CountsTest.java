import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A Streams topology over a rebalance. JUnit 5 and Java 17, with kafka-streams on the class path and pykbroker on the PATH. */
@Timeout(180)
class CountsTest {
    private static final int PARTITIONS = 4;
    private static final List<String> WORDS = List.of("a", "b", "c", "d", "e");

    private static Process broker;
    private static String bootstrap;

    @TempDir
    private Path folder;

    /** The code under test: how often each word came. */
    private static Topology counts() {
        var builder = new StreamsBuilder();
        builder.stream("words", Consumed.with(Serdes.String(), Serdes.String()))
            .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
            .count()
            .toStream()
            .to("counts", Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }

    @Test
    void noCountIsLostOrComesTwiceWhileInstancesComeAndGo() throws Exception {
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            var topics = List.of(new NewTopic("words", PARTITIONS, (short) 1), new NewTopic("counts", 1, (short) 1));
            admin.createTopics(topics).all().get();
        }
        try (var first = start("first"); var second = new KafkaStreams(counts(), settings("second"))) {
            say(100);
            await(first, 2 * PARTITIONS); // each partition is read in two tasks: before the repartition topic and after it

            second.start();
            await(second, PARTITIONS); // the first instance has given up half of its tasks
            await(first, PARTITIONS);
            say(100);

            first.close();
            await(second, 2 * PARTITIONS);
            say(100);
            assertEquals(Map.of("a", 60L, "b", 60L, "c", 60L, "d", 60L, "e", 60L), counted(300));
        }
    }

    private KafkaStreams start(String name) {
        var streams = new KafkaStreams(counts(), settings(name));
        streams.start();
        return streams;
    }

    private Properties settings(String name) {
        var settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "counting");
        settings.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, folder.resolve(name).toString()); // each instance has its own
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        return settings;
    }

    /** Wait until an instance has so many tasks, and they run. */
    private static void await(KafkaStreams streams, int tasks) throws InterruptedException {
        while (streams.state() != KafkaStreams.State.RUNNING || tasksOf(streams) != tasks) Thread.sleep(50);
    }

    private static int tasksOf(KafkaStreams streams) {
        return streams.metadataForLocalThreads().stream().mapToInt(thread -> thread.activeTasks().size()).sum();
    }

    private static void say(int words) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < words; i++) producer.send(new ProducerRecord<>("words", i % PARTITIONS, null, WORDS.get(i % WORDS.size())));
        }
    }

    /** The counts once they add up to so many, or to more. */
    private static Map<String, Long> counted(long words) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "group.id", "test", "auto.offset.reset", "earliest",
            "isolation.level", "read_committed");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new LongDeserializer())) {
            consumer.subscribe(List.of("counts"));
            var counts = new HashMap<String, Long>();
            while (counts.values().stream().mapToLong(Long::longValue).sum() < words) {
                for (var count : consumer.poll(Duration.ofSeconds(1))) counts.put(count.key(), count.value());
            }
            return counts;
        }
    }

    @BeforeAll
    static void startBroker() throws IOException {
        broker = new ProcessBuilder("pykbroker", "serve", "--ephemeral", "--listen", "127.0.0.1:0", "--json", "--exit-with-parent",
                "--set", "group.streams.min.heartbeat.interval.ms=200", "--set", "group.streams.heartbeat.interval.ms=200",
                "--set", "group.streams.assignment.interval.ms=200")
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
}
