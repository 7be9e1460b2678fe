import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;

/** Share groups (KIP-932) with the Java client: both acknowledgement modes, redelivery, and an administrator. */
final class ShareCases {
    private ShareCases() {}

    @Cases.Case
    static void implicitAcknowledgement(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 2, Map.of());
        String group = ShareClients.group(bootstrap);
        Clients.send(bootstrap, topic, 50);
        try (var consumer = ShareClients.consumer(bootstrap, group)) {
            consumer.subscribe(List.of(topic));
            ShareClients.read(consumer, 50);
            consumer.commitSync().values().forEach(error -> Cases.check(error.isEmpty(), "" + error));
            Clients.send(bootstrap, topic, 10);
            ShareClients.read(consumer, 10).forEach(record -> Cases.same((short) 1, record.deliveryCount().get()));
            consumer.commitSync().values().forEach(error -> Cases.check(error.isEmpty(), "" + error));
        }
        try (var consumer = ShareClients.consumer(bootstrap, group)) { // all was acknowledged, with the close too
            consumer.subscribe(List.of(topic));
            Clients.send(bootstrap, topic, 3);
            ShareClients.read(consumer, 3);
        }
    }

    @Cases.Case
    static void explicitAcknowledgement(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap, "share.delivery.count.limit", "3");
        Clients.send(bootstrap, topic, 6);
        try (var consumer = ShareClients.consumer(bootstrap, group, "share.acknowledgement.mode", "explicit")) {
            consumer.subscribe(List.of(topic));
            var seen = new ConcurrentHashMap<Long, List<Short>>();
            var all = List.of((short) 1, (short) 2, (short) 3);
            var once = List.of((short) 1);
            var expected = Map.of(0L, once, 1L, all, 2L, once, 3L, once, 4L, all, 5L, once);
            long deadline = System.currentTimeMillis() + 60_000;
            while (!expected.equals(seen) && System.currentTimeMillis() < deadline) {
                for (var record : consumer.poll(Duration.ofMillis(100))) {
                    seen.computeIfAbsent(record.offset(), o -> new ArrayList<>()).add(record.deliveryCount().get());
                    consumer.acknowledge(record, switch ((int) record.offset() % 3) {
                        case 0 -> AcknowledgeType.ACCEPT;
                        case 1 -> AcknowledgeType.RELEASE;
                        default -> AcknowledgeType.REJECT;
                    });
                }
                consumer.commitSync().values().forEach(error -> Cases.check(error.isEmpty(), "" + error));
            }
            Cases.same(expected, Map.copyOf(seen));
            ShareClients.nothingMore(consumer);
        }
    }

    @Cases.Case
    static void membersShareAPartition(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        try (var one = ShareClients.consumer(bootstrap, group, "max.poll.records", "5");
                var other = ShareClients.consumer(bootstrap, group, "max.poll.records", "5")) {
            one.subscribe(List.of(topic));
            other.subscribe(List.of(topic));
            var seen = new ArrayList<Long>();
            int[] each = new int[2];
            long deadline = System.currentTimeMillis() + 60_000;
            int sent = 0;
            while ((each[0] == 0 || each[1] == 0 || seen.size() < sent) && System.currentTimeMillis() < deadline) {
                if (sent < 400) {
                    Clients.send(bootstrap, topic, 10, "batch.size", "0");
                    sent += 10;
                }
                for (var record : one.poll(Duration.ofMillis(50))) {
                    seen.add(record.offset());
                    each[0]++;
                }
                for (var record : other.poll(Duration.ofMillis(50))) {
                    seen.add(record.offset());
                    each[1]++;
                }
            }
            Cases.check(each[0] > 0 && each[1] > 0, "both read: " + each[0] + " and " + each[1]);
            Cases.same(sent, seen.size());
            Cases.same((long) sent, seen.stream().distinct().count());
        }
    }

    @Cases.Case
    static void administration(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = ShareClients.group(bootstrap);
        Clients.send(bootstrap, topic, 10);
        var partition = new TopicPartition(topic, 0);
        try (var admin = Clients.admin(bootstrap)) {
            try (var consumer = ShareClients.consumer(bootstrap, group)) {
                consumer.subscribe(List.of(topic));
                ShareClients.read(consumer, 10);
                consumer.commitSync();
                var described = admin.describeShareGroups(List.of(group)).all().get().get(group);
                Cases.same(GroupState.STABLE, described.groupState());
                Cases.same(1, described.members().size());
                Cases.check(admin.listGroups(ListGroupsOptions.forShareGroups()).all().get().stream()
                    .anyMatch(each -> each.groupId().equals(group) && each.type().equals(java.util.Optional.of(GroupType.SHARE))),
                    "listed");
            }
            Cases.soon(() -> Cases.same(GroupState.EMPTY,
                admin.describeShareGroups(List.of(group)).all().get().get(group).groupState()));
            Cases.soon(() -> Cases.same(0L, ShareClients.info(admin, group, topic).lag().get()));
            admin.alterShareGroupOffsets(group, Map.of(partition, 4L)).all().get();
            Cases.same(4L, ShareClients.info(admin, group, topic).startOffset());
            try (var consumer = ShareClients.consumer(bootstrap, group)) {
                consumer.subscribe(List.of(topic));
                Cases.same(4L, ShareClients.read(consumer, 6).get(0).offset());
            }
            Cases.soon(() -> admin.deleteShareGroupOffsets(group, java.util.Set.of(topic)).all().get());
            admin.deleteShareGroups(List.of(group)).all().get();
            Cases.fails(GroupIdNotFoundException.class, () -> admin.describeShareGroups(List.of(group)).all().get());
        }
    }
}
