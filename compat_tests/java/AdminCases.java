import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.GroupSubscribedToTopicException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidReplicaAssignmentException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** The admin client 4.4.0. */
final class AdminCases {
    private AdminCases() {}

    private static ConfigResource resource(String topic) {
        return new ConfigResource(ConfigResource.Type.TOPIC, topic);
    }

    private static ConfigEntry config(Admin admin, String topic, String name) throws Exception {
        return admin.describeConfigs(List.of(resource(topic))).all().get().get(resource(topic)).get(name);
    }

    private static AlterConfigOp op(OpType type, String name, String value) {
        return new AlterConfigOp(new ConfigEntry(name, value), type);
    }

    // ---- topics

    @Cases.Case
    static void createAnswersWithWhatWasCreated(String bootstrap) throws Exception {
        String topic = Clients.unique("topic");
        try (var admin = Clients.admin(bootstrap)) {
            var request = new NewTopic(topic, Optional.of(3), Optional.empty()).configs(Map.of("retention.ms", "60000"));
            var created = admin.createTopics(List.of(request));
            Cases.same(3, created.numPartitions(topic).get());
            Cases.same(1, created.replicationFactor(topic).get());
            Cases.same("60000", created.config(topic).get().get("retention.ms").value());
            Cases.same("delete", created.config(topic).get().get("cleanup.policy").value());
            var id = created.topicId(topic).get();
            Cases.soon(() -> Cases.same(id, admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId()));
        }
    }

    @Cases.Case
    static void createRefuses(String bootstrap) throws Exception {
        String there = Clients.topic(bootstrap);
        try (var admin = Clients.admin(bootstrap)) {
            refused(admin, TopicExistsException.class, new NewTopic(there, 1, (short) 1));
            refused(admin, InvalidTopicException.class, new NewTopic("no spaces", 1, (short) 1));
            refused(admin, InvalidTopicException.class, new NewTopic("..", 1, (short) 1));
            String topic = Clients.unique("topic");
            refused(admin, InvalidPartitionsException.class, new NewTopic(topic, 0, (short) 1));
            refused(admin, InvalidReplicationFactorException.class, new NewTopic(topic, 1, (short) 2));
            refused(admin, InvalidReplicaAssignmentException.class, new NewTopic(topic, Map.of(0, List.of(77))));
            refused(admin, InvalidReplicaAssignmentException.class, new NewTopic(topic, Map.of(1, List.of(1))));
            for (var bad : Map.of("no.such", "1", "retention.ms", "soon", "compression.type", "zip").entrySet()) {
                var wrong = new NewTopic(topic, 1, (short) 1).configs(Map.of(bad.getKey(), bad.getValue()));
                refused(admin, InvalidConfigurationException.class, wrong);
            }
        }
    }

    private static void refused(Admin admin, Class<? extends Throwable> error, NewTopic topic) {
        Cases.fails(error, () -> admin.createTopics(List.of(topic)).all().get());
    }

    @Cases.Case
    static void validateOnly(String bootstrap) throws Exception {
        String topic = Clients.unique("topic");
        try (var admin = Clients.admin(bootstrap)) {
            var options = new CreateTopicsOptions().validateOnly(true);
            admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1)), options).all().get();
            Cases.check(!admin.listTopics().names().get().contains(topic), "it was created");
        }
    }

    @Cases.Case
    static void explicitAssignment(String bootstrap) throws Exception {
        String topic = Clients.unique("topic");
        try (var admin = Clients.admin(bootstrap)) {
            admin.createTopics(List.of(new NewTopic(topic, Map.of(0, List.of(1), 1, List.of(1))))).all().get();
            Cases.soon(() -> Cases.same(2, admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size()));
        }
    }

    @Cases.Case
    static void describeAndDeleteById(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 2, Map.of());
        try (var admin = Clients.admin(bootstrap)) {
            var id = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
            var byId = TopicCollection.ofTopicIds(List.of(id));
            Cases.same(topic, admin.describeTopics(byId).allTopicIds().get().get(id).name());
            admin.deleteTopics(byId).all().get();
            Cases.soon(() -> Cases.fails(UnknownTopicIdException.class, () -> admin.describeTopics(byId).allTopicIds().get()));
            Cases.fails(UnknownTopicIdException.class, () -> admin.deleteTopics(byId).all().get());
            Cases.fails(UnknownTopicOrPartitionException.class, () -> admin.describeTopics(List.of(topic)).allTopicNames().get());
            Cases.fails(UnknownTopicOrPartitionException.class, () -> admin.deleteTopics(List.of(topic)).all().get());
        }
    }

    @Cases.Case
    static void aTopicMadeAgainHasANewId(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        Clients.send(bootstrap, topic, 5);
        try (var admin = Clients.admin(bootstrap)) {
            var before = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
            admin.deleteTopics(List.of(topic)).all().get();
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
            Cases.soon(() -> Cases.check(
                !before.equals(admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId()), "same id"));
            var latest = admin.listOffsets(Map.of(new TopicPartition(topic, 0), OffsetSpec.latest())).all().get();
            Cases.same(0L, latest.get(new TopicPartition(topic, 0)).offset());
        }
    }

    @Cases.Case
    static void describePagesThroughManyPartitions(String bootstrap) throws Exception {
        String first = Clients.topic(bootstrap, 25, Map.of());
        String second = Clients.topic(bootstrap, 25, Map.of());
        try (var admin = Clients.admin(bootstrap)) {
            var options = new DescribeTopicsOptions().partitionSizeLimitPerResponse(10);
            var described = admin.describeTopics(List.of(first, second), options).allTopicNames().get();
            Cases.same(25, described.get(first).partitions().size());
            Cases.same(25, described.get(second).partitions().size());
        }
    }

    @Cases.Case
    static void createPartitions(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        try (var admin = Clients.admin(bootstrap)) {
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
            Clients.send(bootstrap, topic, 50);
            Cases.fails(InvalidPartitionsException.class,
                () -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(2))).all().get());
            Cases.fails(InvalidReplicaAssignmentException.class,
                () -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(4, List.of(List.of(9))))).all().get());
            Cases.fails(UnknownTopicOrPartitionException.class,
                () -> admin.createPartitions(Map.of(Clients.unique("none"), NewPartitions.increaseTo(2))).all().get());
        }
    }

    @Cases.Case
    static void internalTopicsAreMarked(String bootstrap) throws Exception {
        String group = Clients.unique("group");
        String topic = Clients.topic(bootstrap);
        try (var admin = Clients.admin(bootstrap)) {
            admin.alterConsumerGroupOffsets(group, Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(0))).all().get();
            var all = admin.listTopics(new ListTopicsOptions().listInternal(true)).listings().get();
            var internal = all.stream().filter(TopicListing::isInternal).map(TopicListing::name).collect(Collectors.toSet());
            Cases.check(internal.contains("__consumer_offsets"), internal.toString());
            Cases.check(!admin.listTopics().names().get().contains("__consumer_offsets"), "listed though internal");
            Cases.same("compact", config(admin, "__consumer_offsets", "cleanup.policy").value());
        }
    }

    // ---- settings

    @Cases.Case
    static void incrementalAlterConfigs(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        try (var admin = Clients.admin(bootstrap)) {
            Collection<AlterConfigOp> changes = List.of(
                op(OpType.SET, "retention.ms", "5000"), op(OpType.APPEND, "cleanup.policy", "compact"));
            admin.incrementalAlterConfigs(Map.of(resource(topic), changes)).all().get();
            Cases.soon(() -> Cases.same("5000", config(admin, topic, "retention.ms").value()));
            Cases.same(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, config(admin, topic, "retention.ms").source());
            Cases.same("delete,compact", config(admin, topic, "cleanup.policy").value());
            changes = List.of(op(OpType.DELETE, "retention.ms", null), op(OpType.SUBTRACT, "cleanup.policy", "delete"));
            admin.incrementalAlterConfigs(Map.of(resource(topic), changes)).all().get();
            Cases.soon(() -> Cases.same("604800000", config(admin, topic, "retention.ms").value()));
            Cases.same("compact", config(admin, topic, "cleanup.policy").value());
            Collection<AlterConfigOp> wrong = List.of(op(OpType.SET, "retention.ms", "soon"));
            Collection<AlterConfigOp> unset = List.of(op(OpType.DELETE, "retention.ms", null));
            Cases.fails(InvalidConfigurationException.class,
                () -> admin.incrementalAlterConfigs(Map.of(resource(topic), wrong)).all().get());
            Cases.fails(UnknownTopicOrPartitionException.class,
                () -> admin.incrementalAlterConfigs(Map.of(resource(Clients.unique("none")), unset)).all().get());
        }
    }

    @Cases.Case
    static void describeConfigsWithSynonymsAndDocumentation(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 1, Map.of("retention.ms", "60000"));
        try (var admin = Clients.admin(bootstrap)) {
            var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
            var entry = admin.describeConfigs(List.of(resource(topic)), options).all().get().get(resource(topic)).get("retention.ms");
            Cases.same("retention.ms", entry.synonyms().get(0).name());
            Cases.same(ConfigEntry.ConfigType.LONG, entry.type());
            Cases.check(entry.documentation() != null && !entry.documentation().isEmpty(), "no documentation");
            var none = resource(Clients.unique("none"));
            Cases.fails(UnknownTopicOrPartitionException.class, () -> admin.describeConfigs(List.of(none)).all().get());
        }
    }

    @Cases.Case
    static void brokerConfigsChangeWhileRunning(String bootstrap) throws Exception {
        var broker = new ConfigResource(ConfigResource.Type.BROKER, "1");
        try (var admin = Clients.admin(bootstrap)) {
            Collection<AlterConfigOp> set = List.of(op(OpType.SET, "log.cleaner.threads", "2"));
            admin.incrementalAlterConfigs(Map.of(broker, set)).all().get();
            Cases.soon(() -> cleanerThreadsAre(admin, broker, "2", ConfigEntry.ConfigSource.DYNAMIC_BROKER_CONFIG));
            Collection<AlterConfigOp> unset = List.of(op(OpType.DELETE, "log.cleaner.threads", null));
            admin.incrementalAlterConfigs(Map.of(broker, unset)).all().get();
            Cases.soon(() -> cleanerThreadsAre(admin, broker, "1", ConfigEntry.ConfigSource.DEFAULT_CONFIG));
        }
    }

    private static void cleanerThreadsAre(Admin admin, ConfigResource broker, String value, ConfigEntry.ConfigSource source)
            throws Exception {
        var entry = admin.describeConfigs(List.of(broker)).all().get().get(broker).get("log.cleaner.threads");
        Cases.same(value, entry.value());
        Cases.same(source, entry.source());
    }

    // ---- records and offsets

    @Cases.Case
    static void deleteRecords(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        var partition = new TopicPartition(topic, 0);
        Clients.send(bootstrap, topic, 10);
        try (var admin = Clients.admin(bootstrap)) {
            var deleted = admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(4)));
            Cases.same(4L, deleted.lowWatermarks().get(partition).get().lowWatermark());
            Cases.fails(OffsetOutOfRangeException.class,
                () -> admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(11))).all().get());
            deleted = admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(-1)));
            Cases.same(10L, deleted.lowWatermarks().get(partition).get().lowWatermark());
        }
    }

    @Cases.Case
    static void listOffsets(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        var partition = new TopicPartition(topic, 0);
        try (var admin = Clients.admin(bootstrap); var producer = Clients.producer(bootstrap)) {
            Cases.same(-1L, offset(admin, partition, OffsetSpec.maxTimestamp()));
            for (long time : List.of(1000L, 3000L, 2000L, 3000L)) {
                producer.send(new ProducerRecord<>(topic, 0, 1_700_000_000_000L + time, "k", "v")).get();
            }
            Cases.same(0L, offset(admin, partition, OffsetSpec.earliest()));
            Cases.same(4L, offset(admin, partition, OffsetSpec.latest()));
            Cases.same(1L, offset(admin, partition, OffsetSpec.maxTimestamp()));
            Cases.same(0L, offset(admin, partition, OffsetSpec.earliestLocal()));
            Cases.same(-1L, offset(admin, partition, OffsetSpec.latestTiered()));
            Cases.same(1L, offset(admin, partition, OffsetSpec.forTimestamp(1_700_000_001_500L)));
            Cases.same(-1L, offset(admin, partition, OffsetSpec.forTimestamp(1_700_000_009_000L)));
        }
    }

    private static long offset(Admin admin, TopicPartition partition, OffsetSpec spec) throws Exception {
        return admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get().offset();
    }

    @Cases.Case
    static void describeProducers(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        var partition = new TopicPartition(topic, 0);
        try (var admin = Clients.admin(bootstrap); var producer = Clients.producer(bootstrap)) {
            for (int i = 0; i < 3; i++) {
                producer.send(new ProducerRecord<>(topic, "v")).get();
            }
            var active = admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers();
            Cases.same(1, active.size());
            Cases.same(2, active.get(0).lastSequence());
            Cases.same(0, active.get(0).producerEpoch());
        }
    }

    @Cases.Case
    static void describeLogDirs(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        Clients.send(bootstrap, topic, 100);
        try (var admin = Clients.admin(bootstrap)) {
            var dirs = admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1);
            Cases.same(1, dirs.size());
            var dir = dirs.values().iterator().next();
            Cases.check(dir.replicaInfos().get(new TopicPartition(topic, 0)).size() > 100, "size of the partition");
            Cases.check(dir.totalBytes().orElse(0) >= dir.usableBytes().orElse(1), "sizes of the volume");
        }
    }

    // ---- groups

    private static Collection<GroupListing> groups(Admin admin, ListGroupsOptions options, String group) throws Exception {
        return admin.listGroups(options).all().get().stream().filter(each -> each.groupId().equals(group)).toList();
    }

    @Cases.Case
    static void groupsAreListedAndDescribed(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 2, Map.of());
        String group = Clients.unique("group");
        try (var admin = Clients.admin(bootstrap); var consumer = Clients.consumer(bootstrap, group, "client.id", "reader")) {
            consumer.subscribe(List.of(topic));
            Clients.pollUntil(() -> consumer.assignment().size() == 2, consumer);
            var listing = groups(admin, new ListGroupsOptions(), group).iterator().next();
            Cases.same("consumer", listing.protocol());
            Cases.same(Optional.of(GroupType.CLASSIC), listing.type());
            Cases.same(Optional.of(GroupState.STABLE), listing.groupState());
            Cases.same(0, groups(admin, new ListGroupsOptions().inGroupStates(Set.of(GroupState.EMPTY)), group).size());
            Cases.same(1, groups(admin, new ListGroupsOptions().withTypes(Set.of(GroupType.CLASSIC)), group).size());
            var described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            var member = described.members().iterator().next();
            Cases.same("reader", member.clientId());
            Cases.same("/127.0.0.1", member.host());
            Cases.same(consumer.assignment(), member.assignment().topicPartitions());
            Cases.same("range", described.partitionAssignor());
            Cases.same(1, described.coordinator().id());
            var classic = admin.describeClassicGroups(List.of(group)).all().get().get(group);
            Cases.same("range", classic.protocolData());
            Cases.fails(GroupIdNotFoundException.class,
                () -> admin.describeConsumerGroups(List.of(Clients.unique("none"))).all().get());
        }
    }

    @Cases.Case
    static void offsetsOfAGroup(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap, 2, Map.of());
        String group = Clients.unique("group");
        var first = new TopicPartition(topic, 0);
        var second = new TopicPartition(topic, 1);
        try (var admin = Clients.admin(bootstrap)) {
            admin.alterConsumerGroupOffsets(group, Map.of(first, new OffsetAndMetadata(0, Optional.of(0), "note"),
                second, new OffsetAndMetadata(0))).all().get();
            var offsets = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
            Cases.same("note", offsets.get(first).metadata());
            Cases.same(2, offsets.size());
            admin.deleteConsumerGroupOffsets(group, Set.of(first)).all().get();
            Cases.same(Set.of(second), admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().keySet());
            var unknown = new TopicPartition(Clients.unique("none"), 0);
            Cases.fails(UnknownTopicOrPartitionException.class,
                () -> admin.alterConsumerGroupOffsets(group, Map.of(unknown, new OffsetAndMetadata(0))).all().get());
            admin.deleteConsumerGroups(List.of(group)).all().get();
            Cases.fails(GroupIdNotFoundException.class, () -> admin.deleteConsumerGroups(List.of(group)).all().get());
        }
    }

    @Cases.Case
    static void aGroupInUseIsProtected(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = Clients.unique("group");
        var partition = new TopicPartition(topic, 0);
        try (var admin = Clients.admin(bootstrap); var consumer = Clients.consumer(bootstrap, group)) {
            consumer.subscribe(List.of(topic));
            Clients.pollUntil(() -> consumer.assignment().size() == 1, consumer);
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(0)));
            Cases.fails(GroupNotEmptyException.class, () -> admin.deleteConsumerGroups(List.of(group)).all().get());
            Cases.fails(GroupSubscribedToTopicException.class,
                () -> admin.deleteConsumerGroupOffsets(group, Set.of(partition)).all().get());
        }
    }

    @Cases.Case
    static void staticMembersAreRemoved(String bootstrap) throws Exception {
        String topic = Clients.topic(bootstrap);
        String group = Clients.unique("group");
        try (var admin = Clients.admin(bootstrap);
                var consumer = Clients.consumer(bootstrap, group, "group.instance.id", "machine-1")) {
            consumer.subscribe(List.of(topic));
            Clients.pollUntil(() -> consumer.assignment().size() == 1, consumer);
            var options = new RemoveMembersFromConsumerGroupOptions(List.of(new MemberToRemove("machine-1")));
            admin.removeMembersFromConsumerGroup(group, options).all().get();
            Cases.same(0, admin.describeConsumerGroups(List.of(group)).all().get().get(group).members().size());
        }
    }

    // ---- cluster

    @Cases.Case
    static void cluster(String bootstrap) throws Exception {
        try (var admin = Clients.admin(bootstrap)) {
            var cluster = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
            var node = cluster.nodes().get().iterator().next();
            Cases.same(bootstrap, node.host() + ":" + node.port());
            Cases.same(node.id(), cluster.controller().get().id());
            Cases.same(22, cluster.clusterId().get().length());
            Cases.check(!cluster.authorizedOperations().get().isEmpty(), "no authorized operations");
        }
    }

    @Cases.Case
    static void features(String bootstrap) throws Exception {
        try (var admin = Clients.admin(bootstrap)) {
            var features = admin.describeFeatures().featureMetadata().get();
            var version = features.finalizedFeatures().get("metadata.version");
            Cases.check(version != null && version.maxVersionLevel() >= 25, "metadata.version: " + version);
        }
    }
}
