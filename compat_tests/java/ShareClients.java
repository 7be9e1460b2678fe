import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.SharePartitionOffsetInfo;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Members of share groups, and what their cases share. */
final class ShareClients {
    static final String[] EXPLICIT = {"share.acknowledgement.mode", "explicit"};
    private static final long LIMIT_MS = 60_000;

    private ShareClients() {}

    /** A group that begins at the start of its topics. */
    static String group(String bootstrap, String... configs) throws Exception {
        String group = Clients.unique("share");
        alter(bootstrap, group, "share.auto.offset.reset", "earliest");
        alter(bootstrap, group, configs);
        return group;
    }

    static void alter(String bootstrap, String group, String... configs) throws Exception {
        var ops = new ArrayList<AlterConfigOp>();
        for (int i = 0; i < configs.length; i += 2) {
            ops.add(new AlterConfigOp(new ConfigEntry(configs[i], configs[i + 1]), AlterConfigOp.OpType.SET));
        }
        Map<ConfigResource, Collection<AlterConfigOp>> all =
            Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), ops);
        try (var admin = Clients.admin(bootstrap)) {
            admin.incrementalAlterConfigs(all).all().get();
        }
    }

    static KafkaShareConsumer<String, String> consumer(String bootstrap, String group, String... pairs) {
        var properties = Clients.properties(bootstrap, "group.id", group);
        properties.putAll(Clients.properties(bootstrap, pairs));
        return new KafkaShareConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }

    /** A member that has subscribed to a topic and says what becomes of each record. */
    static KafkaShareConsumer<String, String> worker(String bootstrap, String group, String topic, String... pairs) {
        var consumer = consumer(bootstrap, group, with(pairs, EXPLICIT));
        consumer.subscribe(List.of(topic));
        return consumer;
    }

    static String[] with(String[] some, String... more) {
        var all = new ArrayList<>(List.of(some));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    /** The records of one poll or more; each poll acknowledges those before, where that is implied. */
    static List<ConsumerRecord<String, String>> read(KafkaShareConsumer<String, String> consumer, int count) {
        var records = new ArrayList<ConsumerRecord<String, String>>();
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (records.size() < count && System.currentTimeMillis() < deadline) {
            consumer.poll(Duration.ofMillis(200)).forEach(records::add);
        }
        Cases.same(count, records.size());
        return records;
    }

    /** The records of one poll. */
    static List<ConsumerRecord<String, String>> polled(KafkaShareConsumer<String, String> consumer) {
        var records = new ArrayList<ConsumerRecord<String, String>>();
        consumer.poll(Duration.ofMillis(500)).forEach(records::add);
        return records;
    }

    /** The records of the next poll that has any. */
    static List<ConsumerRecord<String, String>> next(KafkaShareConsumer<String, String> consumer) {
        var records = new ArrayList<ConsumerRecord<String, String>>();
        until(() -> {
            records.addAll(polled(consumer));
            return !records.isEmpty();
        });
        return records;
    }

    static void until(BooleanSupplier fact) {
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (!fact.getAsBoolean()) {
            Cases.check(System.currentTimeMillis() < deadline, "it did not come about");
        }
    }

    static void nothingMore(KafkaShareConsumer<String, String> consumer) {
        Cases.same(0, consumer.poll(Duration.ofMillis(700)).count());
    }

    static void say(
            KafkaShareConsumer<String, String> consumer, List<ConsumerRecord<String, String>> records,
            AcknowledgeType type) {
        records.forEach(each -> consumer.acknowledge(each, type));
        commit(consumer);
    }

    static void commit(KafkaShareConsumer<String, String> consumer) {
        consumer.commitSync().values().forEach(error -> Cases.check(error.isEmpty(), "" + error));
    }

    static <T> List<T> plus(T first, List<T> rest) {
        var all = new ArrayList<>(List.of(first));
        all.addAll(rest);
        return all;
    }

    static List<Short> counts(List<ConsumerRecord<String, String>> records) {
        return records.stream().map(each -> each.deliveryCount().get()).toList();
    }

    static List<Long> offsets(List<ConsumerRecord<String, String>> records) {
        return records.stream().map(ConsumerRecord::offset).toList();
    }

    static List<String> values(List<ConsumerRecord<String, String>> records) {
        return records.stream().map(ConsumerRecord::value).toList();
    }

    static void deleteRecords(String bootstrap, String topic, long offset) throws Exception {
        try (var admin = Clients.admin(bootstrap)) {
            admin.deleteRecords(Map.of(new TopicPartition(topic, 0), RecordsToDelete.beforeOffset(offset))).all().get();
        }
    }

    static SharePartitionOffsetInfo info(Admin admin, String group, String topic) throws Exception {
        var all = admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec()));
        return all.partitionsToOffsetInfo(group).get().get(new TopicPartition(topic, 0));
    }

    static void lagBecomes(String bootstrap, String group, String topic, long lag) throws Exception {
        try (var admin = Clients.admin(bootstrap)) {
            Cases.soon(() -> Cases.same(lag, info(admin, group, topic).lag().get()));
        }
    }

    static void assigned(String bootstrap, String group, int members) throws Exception {
        try (var admin = Clients.admin(bootstrap)) {
            Cases.soon(() -> {
                var all = admin.describeShareGroups(Set.of(group)).all().get().get(group).members();
                Cases.same(members, all.size());
                Cases.check(all.stream().anyMatch(each -> !each.assignment().topicPartitions().isEmpty()), "assigned");
            });
        }
    }
}
