"""Sentences on groups, offsets, transactions and share groups."""

from pykbroker.config.definitions import coordinators as definitions
from pykbroker.config.documentation.groups import GROUPS

_DEFAULTS = {
    f"group.{name}": f"{sentence} For groups that do not set {name}."
    for name, sentence in GROUPS.items()
    if f"group.{name}" in definitions.COORDINATORS
}

COORDINATORS = {
    **_DEFAULTS,
    "add.partitions.to.txn.retry.backoff.max.ms": "The longest pause before a partition is added to a transaction again.",
    "add.partitions.to.txn.retry.backoff.ms": "The first pause before a partition is added to a transaction again.",
    "errors.deadletterqueue.auto.create.topics.enable": "Whether dead-letter topics of share groups are created on first use.",
    "errors.deadletterqueue.topic.name.prefix": "How names of dead-letter topics begin; empty allows any name.",
    "group.consumer.assignors": "Assignors of consumer groups, the first of them the default.",
    "group.consumer.max.assignment.interval.ms": "The largest consumer.assignment.interval.ms a group may set.",
    "group.consumer.max.heartbeat.interval.ms": "The largest consumer.heartbeat.interval.ms a group may set.",
    "group.consumer.max.session.timeout.ms": "The largest consumer.session.timeout.ms a group may set.",
    "group.consumer.max.size": "The most members of a consumer group.",
    "group.consumer.migration.policy": "Whether groups change between the classic and the consumer protocol.",
    "group.consumer.min.assignment.interval.ms": "The smallest consumer.assignment.interval.ms a group may set.",
    "group.consumer.min.heartbeat.interval.ms": "The smallest consumer.heartbeat.interval.ms a group may set.",
    "group.consumer.min.session.timeout.ms": "The smallest consumer.session.timeout.ms a group may set.",
    "group.coordinator.append.linger.ms": "How long the group coordinator gathers records before it writes them; -1 lets "
    "it choose. Not used by this broker, which writes those of each request at once.",
    "group.coordinator.background.threads": "Threads for the group coordinator's background work. Not used by this broker.",
    "group.coordinator.cached.buffer.max.bytes": "Memory the group coordinator keeps for writing.",
    "group.coordinator.rebalance.protocols": "The group protocols that are served.",
    "group.coordinator.threads": "Threads of the group coordinator. Not used by this broker, which has one loop.",
    "group.initial.rebalance.delay.ms": "How long a new classic group waits for more members before its first "
    "assignment.",
    "group.max.session.timeout.ms": "The longest session a member of a classic group may ask for.",
    "group.max.size": "The most members of a classic group.",
    "group.min.session.timeout.ms": "The shortest session a member of a classic group may ask for.",
    "group.share.assignors": "Assignors of share groups.",
    "group.share.dlq.manager.class.name": "A class of Java that writes dead letters. Not used by this broker.",
    "group.share.max.assignment.interval.ms": "The largest share.assignment.interval.ms a group may set.",
    "group.share.max.delivery.count.limit": "The largest share.delivery.count.limit a group may set.",
    "group.share.max.heartbeat.interval.ms": "The largest share.heartbeat.interval.ms a group may set.",
    "group.share.max.partition.max.record.locks": "The largest share.partition.max.record.locks a group may set.",
    "group.share.max.record.lock.duration.ms": "The largest share.record.lock.duration.ms a group may set.",
    "group.share.max.session.timeout.ms": "The largest share.session.timeout.ms a group may set.",
    "group.share.max.share.sessions": "How many share sessions are remembered.",
    "group.share.max.size": "The most members of a share group.",
    "group.share.min.assignment.interval.ms": "The smallest share.assignment.interval.ms a group may set.",
    "group.share.min.delivery.count.limit": "The smallest share.delivery.count.limit a group may set.",
    "group.share.min.heartbeat.interval.ms": "The smallest share.heartbeat.interval.ms a group may set.",
    "group.share.min.partition.max.record.locks": "The smallest share.partition.max.record.locks a group may set.",
    "group.share.min.record.lock.duration.ms": "The smallest share.record.lock.duration.ms a group may set.",
    "group.share.min.session.timeout.ms": "The smallest share.session.timeout.ms a group may set.",
    "group.streams.assignors": "Assignors of streams groups, the first of them the default.",
    "group.streams.max.assignment.interval.ms": "The largest streams.assignment.interval.ms a group may set.",
    "group.streams.max.heartbeat.interval.ms": "The largest streams.heartbeat.interval.ms a group may set.",
    "group.streams.max.session.timeout.ms": "The largest streams.session.timeout.ms a group may set.",
    "group.streams.max.size": "The most members of a streams group.",
    "group.streams.max.standby.replicas": "The largest streams.num.standby.replicas a group may set.",
    "group.streams.max.warmup.replicas": "The largest streams.num.warmup.replicas a group may set.",
    "group.streams.min.assignment.interval.ms": "The smallest streams.assignment.interval.ms a group may set.",
    "group.streams.min.heartbeat.interval.ms": "The smallest streams.heartbeat.interval.ms a group may set.",
    "group.streams.min.session.timeout.ms": "The smallest streams.session.timeout.ms a group may set.",
    "group.streams.min.task.offset.interval.ms": "The smallest streams.task.offset.interval.ms a group may set.",
    "group.streams.topology.description.plugin.class": "A class of Java that keeps descriptions of topologies. Not used by this "
    "broker.",
    "offset.metadata.max.bytes": "The longest metadata a commit may carry.",
    "offsets.commit.timeout.ms": "How long a commit waits until the offsets topic's replicas have it.",
    "offsets.load.buffer.size": "How much of the offsets topic is read at a time when groups are loaded.",
    "offsets.retention.check.interval.ms": "How often it is looked for offsets that expired.",
    "offsets.retention.minutes": "Offsets of a group without members are forgotten after this time.",
    "offsets.topic.compression.codec": "The codec of the offsets topic, by its number.",
    "offsets.topic.num.partitions": "Partitions of the offsets topic. Not to be changed once it exists.",
    "offsets.topic.replication.factor": "Replicas of the offsets topic.",
    "offsets.topic.segment.bytes": "Segment size of the offsets topic.",
    "producer.id.expiration.ms": "A producer id that is not used for this long is forgotten.",
    "share.coordinator.append.linger.ms": "How long the share coordinator gathers records before it writes them; -1 lets "
    "it choose. Not used by this broker, which writes those of each request at once.",
    "share.coordinator.cached.buffer.max.bytes": "Memory the share coordinator keeps for writing.",
    "share.coordinator.load.buffer.size": "How much of the share state topic is read at a time when it is loaded.",
    "share.coordinator.snapshot.update.records.per.snapshot": "Updates of a share partition between two snapshots.",
    "share.coordinator.state.topic.compression.codec": "The codec of the share state topic, by its number.",
    "share.coordinator.state.topic.min.isr": "The least in-sync replicas of the share state topic.",
    "share.coordinator.state.topic.num.partitions": "Partitions of the share state topic. Not to be changed once it exists.",
    "share.coordinator.state.topic.replication.factor": "Replicas of the share state topic.",
    "share.coordinator.state.topic.segment.bytes": "Segment size of the share state topic.",
    "share.coordinator.threads": "Threads of the share coordinator. Not used by this broker, which has one loop.",
    "share.coordinator.write.timeout.ms": "How long a write of share state waits for replicas.",
    "share.fetch.purgatory.purge.interval.requests": "How often waiting share fetches are tidied up. Not used by this "
    "broker.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "How often it is looked for transactions to abort.",
    "transaction.max.timeout.ms": "The longest transaction a producer may ask for.",
    "transaction.partition.verification.enable": "Whether it is checked that a partition belongs to the transaction that "
    "writes to it.",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "How often it is looked for transactional ids that "
    "expired.",
    "transaction.state.log.load.buffer.size": "How much of the transactions topic is read at a time when it is loaded.",
    "transaction.state.log.min.isr": "The least in-sync replicas of the transactions topic.",
    "transaction.state.log.num.partitions": "Partitions of the transactions topic. Not to be changed once it exists.",
    "transaction.state.log.replication.factor": "Replicas of the transactions topic.",
    "transaction.state.log.segment.bytes": "Segment size of the transactions topic.",
    "transaction.two.phase.commit.enable": "Whether producers may keep a transaction prepared for an outside decision.",
    "transactional.id.expiration.ms": "A transactional id that is not used for this long is forgotten.",
}
