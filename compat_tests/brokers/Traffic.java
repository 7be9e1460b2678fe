import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;

/**
 * Numbers go to the topic IN, record by record; two members of a group copy them to the topic OUT in transactions.
 *
 * <p>Prints "sent N" and "copied N" as it goes. A line on standard input ends the sending, its end ends the program. What a
 * client says that an application would have to mend is printed as "error ...".
 */
final class Traffic {
    private static final AtomicLong sent = new AtomicLong();
    private static final AtomicLong copied = new AtomicLong();
    private static volatile boolean sending = true;
    private static volatile boolean copying = true;

    private Traffic() {}

    /** Arguments: bootstrap servers, IN, its number of partitions, OUT, group, group protocol. */
    public static void main(String[] args) throws Exception {
        var sender = new Thread(() -> reporting("producer", () -> send(args[0], args[1], Integer.parseInt(args[2]))));
        sender.start();
        var copiers = List.of(copier(args, 0), copier(args, 1));
        copiers.forEach(Thread::start);
        System.in.read();
        sending = false;
        sender.join();
        System.out.println("total " + sent.get());
        while (System.in.read() >= 0) {
            // until the other side has seen enough
        }
        copying = false;
        for (var each : copiers) {
            each.join();
        }
    }

    private static Thread copier(String[] args, int number) {
        return new Thread(() -> reporting("copier", () -> copy(args, number)));
    }

    private static void reporting(String who, Runnable work) {
        try {
            work.run();
        } catch (RuntimeException error) {
            System.out.println("error " + who + ": " + error);
        }
    }

    private static KafkaProducer<String, String> producer(String bootstrap, Map<String, String> more) {
        var settings = new HashMap<String, Object>(more);
        settings.put("bootstrap.servers", bootstrap);
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        return new KafkaProducer<>(settings);
    }

    private static void send(String bootstrap, String topic, int partitions) {
        try (var producer = producer(bootstrap, Map.of("linger.ms", "2"))) {
            for (long number = 0; sending; number++) {
                var record = new ProducerRecord<String, String>(topic, (int) (number % partitions), null, "" + number);
                producer.send(record, (metadata, error) -> {
                    if (error != null) {
                        System.out.println("error send: " + error);
                    } else if (sent.incrementAndGet() % 50 == 0) {
                        System.out.println("sent " + sent.get());
                    }
                });
                pause(2);
            }
        }
    }

    private static void copy(String[] args, int number) {
        var settings = new HashMap<String, Object>(Map.of(
            "bootstrap.servers", args[0],
            "group.id", args[4],
            "group.protocol", args[5],
            "auto.offset.reset", "earliest",
            "enable.auto.commit", "false",
            "isolation.level", "read_committed",
            "key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer",
            "value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer"));
        try (var consumer = new KafkaConsumer<String, String>(settings);
            var producer = producer(args[0], Map.of("transactional.id", args[4] + number))) {
            producer.initTransactions();
            consumer.subscribe(List.of(args[1]));
            while (copying) {
                var records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) {
                    continue;
                }
                try {
                    producer.beginTransaction();
                    var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
                    for (ConsumerRecord<String, String> each : records) {
                        producer.send(new ProducerRecord<>(args[3], each.partition(), null, each.value()));
                        offsets.put(
                            new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
                    }
                    producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                    producer.commitTransaction();
                    System.out.println("copied " + copied.addAndGet(records.count()));
                } catch (ProducerFencedException error) {
                    throw error;
                } catch (KafkaException error) { // a rebalance came between: what was read is read again
                    System.out.println("aborted " + error);
                    producer.abortTransaction();
                    rewind(consumer);
                }
            }
        }
    }

    private static void rewind(KafkaConsumer<String, String> consumer) {
        var committed = consumer.committed(consumer.assignment());
        for (var partition : consumer.assignment()) {
            var offset = committed.get(partition);
            if (offset != null) {
                consumer.seek(partition, offset);
            } else {
                consumer.seekToBeginning(List.of(partition));
            }
        }
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
