import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A shop writes orders; two payers read them in a group and write each to "charges" and to "receipts" in a transaction with its offset.
 * Lines in: "LIFE id kind bootstrap orders", where kind is classic, consumer or streams. Lines out: "LIFE id ok", or why not.
 */
public final class ExactlyOnce {
    private static final Duration LIMIT = Duration.ofSeconds(90);
    private static final Duration POLL = Duration.ofMillis(100);

    private final String id;
    private final String kind;
    private final String bootstrap;
    private final int orders;
    private final AtomicBoolean isOver = new AtomicBoolean();
    private final AtomicReference<Exception> failure = new AtomicReference<>();

    private ExactlyOnce(String[] words) {
        id = words[1];
        kind = words[2];
        bootstrap = words[3];
        orders = Integer.parseInt(words[4]);
    }

    public static void main(String[] args) throws Exception {
        var lives = Executors.newCachedThreadPool();
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            var life = new ExactlyOnce(line.split(" "));
            lives.submit(() -> {
                String said;
                try {
                    said = life.live();
                } catch (Exception error) {
                    said = (error + " " + error.getCause()).replace('\n', ' ');
                }
                synchronized (System.out) {
                    System.out.println("LIFE " + life.id + " " + said);
                    System.out.flush();
                }
            });
        }
        lives.shutdown();
        lives.awaitTermination(1, TimeUnit.MINUTES);
        System.exit(0);
    }

    private Properties settings(String client, Map<String, String> more) {
        var made = new Properties();
        made.putAll(Map.of("bootstrap.servers", bootstrap, "client.id", client, "request.timeout.ms", "3000", "retry.backoff.ms", "20",
            "retry.backoff.max.ms", "200", "reconnect.backoff.ms", "20", "reconnect.backoff.max.ms", "200", "metadata.max.age.ms", "1000",
            "default.api.timeout.ms", "20000"));
        made.putAll(more);
        return made;
    }

    private String live() throws Exception {
        var working = Executors.newCachedThreadPool();
        var tasks = new ArrayList<Future<?>>();
        try {
            tasks.add(working.submit(() -> guarded(this::sell)));
            if (kind.equals("streams")) {
                tasks.add(working.submit(() -> guarded(() -> StreamsPayer.pay(settings("streams", Map.of()), isOver))));
            } else {
                tasks.add(working.submit(() -> guarded(() -> pay("payer-1"))));
                tasks.add(working.submit(() -> guarded(() -> pay("payer-2"))));
            }
            var seen = count();
            isOver.set(true);
            for (var task : tasks) {
                task.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            }
            if (failure.get() != null) {
                throw failure.get();
            }
            return seen == orders ? "ok" : "only " + seen + " of " + orders + " in time";
        } finally {
            isOver.set(true);
            working.shutdownNow();
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private void guarded(Work work) {
        try {
            work.run();
        } catch (Exception error) {
            failure.compareAndSet(null, error);
            isOver.set(true);
        }
    }

    private void sell() throws Exception {
        // One in flight: else a batch goes to a new leader while an earlier one waits at the old leader, and if it is the first that the new
        // one sees of this producer, the earlier one is out of order for ever. test_java_producer.py has Apache Kafka show it.
        var settings = settings("shop", Map.of("enable.idempotence", "true", "linger.ms", "5", "delivery.timeout.ms", "60000",
            "max.in.flight.requests.per.connection", "1"));
        var sent = new ArrayList<Future<?>>();
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (var number : IntStream.range(0, orders).toArray()) {
                sent.add(producer.send(new ProducerRecord<>("orders", "k" + number % 5, "order " + number)));
                Thread.sleep(20);
            }
            for (var each : sent) {
                each.get();
            }
        }
    }

    /** Begin anew after whatever went wrong: with a new member, and a producer that fences the one before. */
    private void pay(String name) throws Exception {
        while (!isOver.get()) {
            try {
                payAsOneMember(name);
            } catch (RuntimeException error) { // the consumer has some of its own beside KafkaException
                if (System.getenv("LIVES_DEBUG") != null) {
                    System.err.println(id + " " + name + " begins anew: " + error);
                }
                Thread.sleep(20);
            }
        }
    }

    private void payAsOneMember(String name) {
        var reading = new HashMap<>(Map.of("group.id", "payers", "auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "isolation.level", "read_committed", "group.protocol", kind, "max.poll.records", "7", "fetch.max.wait.ms", "100"));
        if (kind.equals("classic")) {
            reading.putAll(Map.of("session.timeout.ms", "3000", "heartbeat.interval.ms", "300", "max.poll.interval.ms", "30000"));
        }
        var writing = settings(name, Map.of("transactional.id", name, "transaction.timeout.ms", "5000", "delivery.timeout.ms", "20000",
            "linger.ms", "0", "max.block.ms", "20000"));
        try (var producer = new KafkaProducer<>(writing, new StringSerializer(), new StringSerializer());
            var consumer = new KafkaConsumer<>(settings(name, reading), new StringDeserializer(), new StringDeserializer())) {
            producer.initTransactions();
            consumer.subscribe(List.of("orders"), joinsAnewWhenAsked());
            while (!isOver.get()) {
                var records = consumer.poll(POLL);
                if (records.isEmpty()) {
                    continue;
                }
                var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
                producer.beginTransaction();
                for (ConsumerRecord<String, String> order : records) {
                    producer.send(new ProducerRecord<>("charges", order.key(), order.value()));
                    producer.send(new ProducerRecord<>("receipts", order.key(), order.value()));
                    offsets.put(new TopicPartition(order.topic(), order.partition()), new OffsetAndMetadata(order.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
            }
        }
    }

    /**
     * A listener that does nothing. With one, a consumer of the new protocol that was fenced joins anew in poll(); without one it does so at
     * any time, and groupMetadata() has the next epoch for records of before.
     */
    private static ConsumerRebalanceListener joinsAnewWhenAsked() {
        return new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {}
        };
    }

    /** How many orders are charged, as soon as all are, or after the limit. */
    private int count() {
        var seen = new HashSet<String>();
        var ends = System.nanoTime() + LIMIT.toNanos();
        var reading = settings("counter", Map.of("isolation.level", "read_committed", "auto.offset.reset", "earliest", "enable.auto.commit",
            "false", "fetch.max.wait.ms", "100"));
        try (var consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(new TopicPartition("charges", 0), new TopicPartition("charges", 1)));
            while (seen.size() < orders && !isOver.get() && System.nanoTime() < ends) {
                consumer.poll(POLL).forEach(charge -> seen.add(charge.value()));
            }
        }
        return seen.size();
    }
}
