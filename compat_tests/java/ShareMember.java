import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A member of a share group that writes down what it gets, that it says something of it, before it says it, and what became of that. Each is
 * one write, so that a member that is killed has said no more than its lines do: "got time partition offset deliveries verdict", "says time",
 * "said time partition offset error". Times are nanoseconds of this machine's monotonic clock. Arguments: bootstrap group topic mode file.
 */
public final class ShareMember {
    private static final long WORK_MS = 30;

    private final FileOutputStream ledger;
    private final boolean isExplicit;

    private ShareMember(String mode, String file) throws Exception {
        isExplicit = mode.equals("explicit");
        ledger = new FileOutputStream(file, true);
    }

    public static void main(String[] args) throws Exception {
        var properties = new Properties();
        var settings = List.of("bootstrap.servers", args[0], "group.id", args[1], "share.acknowledgement.mode", args[3],
            "max.poll.records", "20", "reconnect.backoff.ms", "20", "reconnect.backoff.max.ms", "100", "retry.backoff.ms", "20",
            "retry.backoff.max.ms", "200", "fetch.max.wait.ms", "200");
        for (int i = 0; i < settings.size(); i += 2) {
            properties.put(settings.get(i), settings.get(i + 1));
        }
        var member = new ShareMember(args[3], args[4]);
        try (var consumer = new KafkaShareConsumer<>(properties, new ByteArrayDeserializer(), new StringDeserializer())) {
            consumer.setAcknowledgementCommitCallback(member::said);
            consumer.subscribe(List.of(args[2]));
            while (true) {
                try {
                    member.take(consumer);
                } catch (KafkaException error) {
                    member.write("failed " + System.nanoTime() + " " + error.getClass().getSimpleName());
                }
            }
        }
    }

    private void take(KafkaShareConsumer<byte[], String> consumer) throws InterruptedException {
        ConsumerRecords<byte[], String> records = consumer.poll(Duration.ofMillis(200)); // in implicit mode it said of the last ones: accept
        if (records.isEmpty()) {
            return;
        }
        var lines = new StringBuilder();
        for (var record : records) {
            lines.append("got ").append(System.nanoTime()).append(' ').append(record.partition()).append(' ').append(record.offset())
                .append(' ').append(record.deliveryCount().get()).append(' ').append(verdict(record)).append('\n');
        }
        write(lines.toString());
        Thread.sleep(WORK_MS); // the work that it has with them
        write("says " + System.nanoTime());
        if (isExplicit) {
            records.forEach(record -> consumer.acknowledge(record, verdict(record)));
            consumer.commitSync();
        }
    }

    /** What it says of a record: some are never good, others only not now. */
    private AcknowledgeType verdict(ConsumerRecord<byte[], String> record) {
        if (!isExplicit || record.value().startsWith("good")) {
            return AcknowledgeType.ACCEPT;
        }
        return record.value().startsWith("never") ? AcknowledgeType.REJECT : AcknowledgeType.RELEASE;
    }

    private void said(Map<TopicIdPartition, Set<Long>> what, Exception error) {
        var lines = new StringBuilder();
        what.forEach((partition, offsets) -> offsets.forEach(offset ->
            lines.append("said ").append(System.nanoTime()).append(' ').append(partition.partition()).append(' ').append(offset).append(' ')
                .append(error == null ? "ok" : error.getClass().getSimpleName()).append('\n')));
        write(lines.toString());
    }

    private void write(String lines) {
        try {
            ledger.write((lines.strip() + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }
}
