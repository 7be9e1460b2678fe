import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidRegularExpression;
import org.apache.kafka.common.errors.UnreleasedInstanceIdException;
import org.apache.kafka.common.errors.UnsupportedAssignorException;

/** Consumer groups of the new protocol (KIP-848) with the Java client 4.4.0, and their migration from and to classic. */
final class ConsumerProtocolCases {
    private ConsumerProtocolCases() {}

    private static KafkaConsumer<String, String> consumer(String bootstrap, String group, String... pairs) {
        var all = new ArrayList<>(List.of("group.protocol", "consumer", "bootstrap.servers", bootstrap, "group.id", group,
            "auto.offset.reset", "earliest", "enable.auto.commit", "false"));
        all.addAll(List.of(pairs));
        var properties = Clients.properties(bootstrap, all.toArray(String[]::new));
        var text = new org.apache.kafka.common.serialization.StringDeserializer();
        return new KafkaConsumer<>(properties, text, text);
    }

    private static ConsumerGroupDescription described(String bootstrap, String group) throws Exception {
        try (var admin = Clients.admin(bootstrap)) {
            return admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
        }
    }

    // ---- assignments

    @Cases.Case
    static void uniformAssignor(String bootstrap) throws Exception {
        share(bootstrap, "uniform");
    }

    @Cases.Case
    static void rangeAssignor(String bootstrap) throws Exception {
        share(bootstrap, "range");
    }

    private static void share(String bootstrap, String assignor) throws Exception {
        String topic = Clients.topic(bootstrap, 6, Map.of());
        String group = Clients.unique("group");
        String[] settings = {"group.remote.assignor", assignor};
        try (var one = consumer(bootstrap, group, settings); var two = consumer(bootstrap, group, settings)) {
            one.subscribe(List.of(topic));
            Clients.pollUntil(() -> one.assignment().size() == 6, one);
            two.subscribe(List.of(topic));
            Clients.pollUntil(() -> one.assignment().size() == 3 && two.assignment().size() == 3, one, two);
            var all = new HashSet<>(one.assignment());
            all.addAll(two.assignment());
            Cases.same(6, all.size());
            var group_ = described(bootstrap, group);
            Cases.same(GroupType.CONSUMER, group_.type());
            Cases.same(GroupState.STABLE, group_.groupState());
            Cases.same(assignor, group_.partitionAssignor());
            Cases.same(2, group_.members().size());
            two.unsubscribe();
            Clients.pollUntil(() -> one.assignment().size() == 6, one);
        }
        Cases.soon(() -> Cases.same(GroupState.EMPTY, described(bootstrap, group).groupState()));
    }

    @Cases.Case
    static void onlyWhatMovesIsRevoked(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 4, Map.of());
        String group = Clients.unique("group");
        List<String> heard = new ArrayList<>();
        var listener = new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                heard.add("revoked " + partitions.size());
            }

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                if (!partitions.isEmpty()) {
                    heard.add("assigned " + partitions.size());
                }
            }
        };
        try (var one = consumer(bootstrap, group); var two = consumer(bootstrap, group)) {
            one.subscribe(List.of(topic), listener);
            Clients.pollUntil(() -> one.assignment().size() == 4, one);
            two.subscribe(List.of(topic));
            Clients.pollUntil(() -> one.assignment().size() == 2 && two.assignment().size() == 2, one, two);
            two.close();
            Clients.pollUntil(() -> one.assignment().size() == 4, one);
        }
        Cases.same(List.of("assigned 4", "revoked 2", "assigned 2", "revoked 4"), heard);
    }

    @Cases.Case
    static void anAssignorNobodyHas(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        try (var one = consumer(bootstrap, Clients.unique("group"), "group.remote.assignor", "nobodys")) {
            one.subscribe(List.of(topic));
            Cases.fails(UnsupportedAssignorException.class, () -> Clients.pollUntil(() -> false, one));
        }
    }

    @Cases.Case
    static void topicsAndPartitionsThatComeLater(String bootstrap) throws Exception {
        String topic = Clients.unique("later");
        try (var one = consumer(bootstrap, Clients.unique("group"), "allow.auto.create.topics", "false",
                "metadata.max.age.ms", "300");
                var admin = Clients.admin(bootstrap)) {
            one.subscribe(List.of(topic));
            for (int i = 0; i < 5; i++) {
                one.poll(Duration.ofMillis(30));
            }
            admin.createTopics(List.of(new org.apache.kafka.clients.admin.NewTopic(topic, 2, (short) 1))).all().get();
            Clients.pollUntil(() -> one.assignment().size() == 2, one);
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(5))).all().get();
            Clients.pollUntil(() -> one.assignment().size() == 5, one);
            admin.deleteTopics(List.of(topic)).all().get();
            Clients.pollUntil(() -> one.assignment().isEmpty(), one);
        }
    }

    // ---- patterns

    @Cases.Case
    static void patternInTheSyntaxOfRe2(String bootstrap) throws Exception {
        String prefix = Clients.topic(bootstrap);
        String other = Clients.topic(bootstrap);
        try (var one = consumer(bootstrap, Clients.unique("group"), "metadata.max.age.ms", "300")) {
            one.subscribe(new SubscriptionPattern(prefix + "(-(later|\\pN+))?"));
            Clients.pollUntil(() -> one.assignment().size() == 1, one);
            Clients.send(bootstrap, prefix + "-later", 1);
            Clients.pollUntil(() -> one.assignment().size() == 2, one);
            Clients.send(bootstrap, prefix + "-latest", 1);
            one.subscribe(new SubscriptionPattern(prefix + ".*|" + other));
            Clients.pollUntil(() -> one.assignment().size() == 4, one);
        }
    }

    @Cases.Case
    static void patternsThatAreNone(String bootstrap) throws Exception {
        for (String text : List.of("(", "a(?=b)", "(a)\\1")) {
            try (var one = consumer(bootstrap, Clients.unique("group"))) {
                one.subscribe(new SubscriptionPattern(text));
                Cases.fails(InvalidRegularExpression.class, () -> Clients.pollUntil(() -> false, one));
            }
        }
    }

    // ---- static members

    @Cases.Case
    static void aStaticMemberReturnsToItsPartitions(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 4, Map.of());
        String group = Clients.unique("group");
        String[] second = {"group.instance.id", "machine-2"};
        try (var one = consumer(bootstrap, group, "group.instance.id", "machine-1")) {
            var two = consumer(bootstrap, group, second);
            one.subscribe(List.of(topic));
            two.subscribe(List.of(topic));
            Clients.pollUntil(() -> one.assignment().size() == 2 && two.assignment().size() == 2, one, two);
            var ones = one.assignment();
            var before = two.assignment();
            two.close();
            try (var again = consumer(bootstrap, group, second)) {
                again.subscribe(List.of(topic));
                Clients.pollUntil(() -> again.assignment().equals(before), again);
                Cases.same(ones, one.assignment());
            }
        }
    }

    @Cases.Case
    static void anInstanceIdInUseIsNotGivenAway(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = Clients.unique("group");
        String[] same = {"group.instance.id", "same"};
        try (var one = consumer(bootstrap, group, same); var two = consumer(bootstrap, group, same)) {
            one.subscribe(List.of(topic));
            Clients.pollUntil(() -> one.assignment().size() == 1, one);
            two.subscribe(List.of(topic));
            Cases.fails(UnreleasedInstanceIdException.class, () -> Clients.pollUntil(() -> false, two));
            Cases.same(1, one.assignment().size());
        }
    }

    // ---- offsets and administration

    @Cases.Case
    static void commitAndResume(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = Clients.unique("group");
        var partition = new TopicPartition(topic, 0);
        Clients.send(bootstrap, topic, 10);
        try (var one = consumer(bootstrap, group)) {
            one.subscribe(List.of(topic));
            Clients.read(one, 10);
            var six = new OffsetAndMetadata(6, Optional.of(0), "six");
            one.commitSync(Map.of(partition, six));
            Cases.same(Map.of(partition, six), one.committed(Set.of(partition)));
        }
        try (var one = consumer(bootstrap, group)) {
            one.subscribe(List.of(topic));
            Cases.same(6L, Clients.read(one, 4).get(0).offset());
        }
    }

    @Cases.Case
    static void aGroupInUseIsProtected(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = Clients.unique("group");
        try (var admin = Clients.admin(bootstrap)) {
            try (var one = consumer(bootstrap, group)) {
                one.subscribe(List.of(topic));
                Clients.pollUntil(() -> one.assignment().size() == 1, one);
                one.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(0)));
                Cases.fails(GroupNotEmptyException.class, () -> admin.deleteConsumerGroups(List.of(group)).all().get());
                var deleted = admin.deleteConsumerGroupOffsets(group, Set.of(new TopicPartition(topic, 0)));
                Cases.fails(org.apache.kafka.common.errors.GroupSubscribedToTopicException.class,
                    () -> deleted.all().get());
            }
            Cases.soon(() -> admin.deleteConsumerGroups(List.of(group)).all().get());
        }
    }

    @Cases.Case
    static void settingsOfAGroup(String bootstrap) throws Exception {
        var group = new ConfigResource(ConfigResource.Type.GROUP, Clients.unique("group"));
        try (var admin = Clients.admin(bootstrap)) {
            var set = new AlterConfigOp(new ConfigEntry("consumer.session.timeout.ms", "50000"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(group, List.of(set))).all().get();
            Cases.soon(() -> Cases.same("50000",
                admin.describeConfigs(List.of(group)).all().get().get(group).get("consumer.session.timeout.ms").value()));
            var bad = new AlterConfigOp(new ConfigEntry("consumer.session.timeout.ms", "1"), AlterConfigOp.OpType.SET);
            Cases.fails(InvalidConfigurationException.class,
                () -> admin.incrementalAlterConfigs(Map.of(group, List.of(bad))).all().get());
        }
    }

    // ---- migration while records come

    @Cases.Case
    static void upgradeWhileConsuming(String bootstrap) throws Exception {
        migrate(bootstrap, false);
    }

    @Cases.Case
    static void downgradeWhileConsuming(String bootstrap) throws Exception {
        migrate(bootstrap, true);
    }

    /** Two members are replaced one by one by members of the other protocol. Every record is read and committed. */
    private static void migrate(String bootstrap, boolean down) throws Exception {
        String topic = Clients.topic(bootstrap, 4, Map.of());
        String group = Clients.unique("group");
        var reader = new Reader(bootstrap, topic);
        var first = reader.join(member(bootstrap, group, down), topic);
        var second = reader.join(member(bootstrap, group, down), topic);
        reader.until(() -> first.assignment().size() == 2 && second.assignment().size() == 2);
        Cases.same(down ? GroupType.CONSUMER : GroupType.CLASSIC, described(bootstrap, group).type());

        var third = reader.join(member(bootstrap, group, !down), topic);
        reader.until(() -> !third.assignment().isEmpty());
        Cases.same(GroupType.CONSUMER, described(bootstrap, group).type()); // both kinds live in a consumer group
        reader.leave(first);
        reader.until(() -> third.assignment().size() == 2 && second.assignment().size() == 2);
        var fourth = reader.join(member(bootstrap, group, !down), topic);
        reader.until(() -> !fourth.assignment().isEmpty());
        reader.leave(second);
        reader.until(() -> third.assignment().size() == 2 && fourth.assignment().size() == 2);
        Cases.same(down ? GroupType.CLASSIC : GroupType.CONSUMER, described(bootstrap, group).type());
        reader.finish(group);
    }

    private static KafkaConsumer<String, String> member(String bootstrap, String group, boolean newProtocol) {
        return newProtocol ? consumer(bootstrap, group)
            : Clients.consumer(bootstrap, group, "partition.assignment.strategy",
                "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
    }

    /** Members that are polled in turn and commit after each poll, while one record is sent before each round. */
    private static final class Reader {
        private final String bootstrap;
        private final String topic;
        private final List<KafkaConsumer<String, String>> members = new ArrayList<>();
        private final Set<String> seen = new HashSet<>();
        private int sent;

        Reader(String bootstrap, String topic) {
            this.bootstrap = bootstrap;
            this.topic = topic;
        }

        KafkaConsumer<String, String> join(KafkaConsumer<String, String> member, String topic) {
            member.subscribe(List.of(topic));
            members.add(member);
            return member;
        }

        void leave(KafkaConsumer<String, String> member) {
            members.remove(member);
            member.close();
        }

        void until(java.util.function.BooleanSupplier condition) throws Exception {
            try (var producer = Clients.producer(bootstrap)) {
                long deadline = System.currentTimeMillis() + 30_000;
                while (!condition.getAsBoolean()) {
                    Cases.check(System.currentTimeMillis() < deadline, "the group did not reach the expected state");
                    producer.send(new org.apache.kafka.clients.producer.ProducerRecord<>(topic, sent % 4, "k", "v" + sent)).get();
                    sent++;
                    round();
                }
            }
        }

        void finish(String group) throws Exception {
            long deadline = System.currentTimeMillis() + 20_000;
            try (var admin = Clients.admin(bootstrap)) {
                long committed = 0;
                while (seen.size() < sent || committed < sent) {
                    Cases.check(System.currentTimeMillis() < deadline,
                        "read " + seen.size() + " and committed " + committed + " of " + sent + " records");
                    round();
                    committed = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().values().stream()
                        .mapToLong(OffsetAndMetadata::offset).sum();
                }
                Cases.same((long) sent, committed);
            }
            for (var member : List.copyOf(members)) {
                leave(member);
            }
        }

        private void round() {
            for (var member : members) {
                member.poll(Duration.ofMillis(20)).forEach(record -> seen.add(record.value()));
                try {
                    member.commitSync();
                } catch (org.apache.kafka.clients.consumer.CommitFailedException
                        | org.apache.kafka.common.errors.RebalanceInProgressException moved) {
                    // the partitions are somebody else's by now, or join another generation: they are read again
                }
            }
        }
    }
}
