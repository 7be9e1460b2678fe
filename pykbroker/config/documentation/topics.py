"""Sentences on the settings of topics."""

TOPICS = {
    "cleanup.policy": "What becomes of old segments: delete drops them by age or size, compact keeps the last record of "
    "each key; both may be given. An empty list keeps everything.",
    "compression.gzip.level": "Level of compression where compression.type is gzip; -1 is the codec's own choice.",
    "compression.lz4.level": "Level of compression where compression.type is lz4.",
    "compression.type": "The codec that batches are stored in: gzip, snappy, lz4, zstd, uncompressed for none, or producer "
    "for whatever the producer sent.",
    "compression.zstd.level": "Level of compression where compression.type is zstd.",
    "confluent.key.schema.validation": "Whether records are refused whose key has no schema id that the schema registry of this process "
    "knows under its subject. A setting of Confluent's brokers.",
    "confluent.key.subject.name.strategy": "How the subject of a key is named, by a class of Confluent's serializers.",
    "confluent.value.schema.validation": "Whether records are refused whose value has no schema id that the schema registry of this process "
    "knows under its subject. A setting of Confluent's brokers.",
    "confluent.value.subject.name.strategy": "How the subject of a value is named, by a class of Confluent's serializers.",
    "delete.retention.ms": "How long compaction keeps a tombstone, and so how long a consumer that started at the "
    "beginning may take to see every deletion.",
    "errors.deadletterqueue.group.enable": "Whether share groups may write records that they gave up to the topic.",
    "file.delete.delay.ms": "How long files of a deleted log stay on disk.",
    "flush.messages": "Sync the log to disk after this many records; the largest number leaves it to the system.",
    "flush.ms": "Sync the log to disk when a record has waited this long; the largest number leaves it to the system.",
    "follower.replication.throttled.replicas": "Replicas whose fetching is throttled on the follower's side, as "
    "partition:broker pairs, or * for all.",
    "index.interval.bytes": "How many bytes of records lie between two entries of the offset index.",
    "internal.segment.bytes": "A segment size below the lower limit of segment.bytes, for tests.",
    "leader.replication.throttled.replicas": "Replicas whose fetching is throttled on the leader's side, as "
    "partition:broker pairs, or * for all.",
    "local.retention.bytes": "With tiered storage: how many bytes stay on local disk; -2 means as in retention.bytes.",
    "local.retention.ms": "With tiered storage: how long segments stay on local disk; -2 means as in retention.ms.",
    "max.compaction.lag.ms": "A record is compacted at the latest after this time.",
    "max.decompressed.message.bytes": "The largest record that a compressed batch may hold, decompressed.",
    "max.message.bytes": "The largest record batch that is taken, as it arrives (compressed).",
    "message.timestamp.after.max.ms": "How far a record's timestamp may lie in the future of the broker's clock.",
    "message.timestamp.before.max.ms": "How far a record's timestamp may lie in the past of the broker's clock.",
    "message.timestamp.type": "Whether records keep the producer's time (CreateTime) or get the broker's "
    "(LogAppendTime).",
    "min.cleanable.dirty.ratio": "The share of a log that must be uncompacted before it is compacted.",
    "min.compaction.lag.ms": "A record is left alone by compaction for this time.",
    "min.insync.replicas": "How many in-sync replicas, the leader among them, a write with acks=all needs. No more than "
    "the partition has replicas is ever asked for.",
    "pykbroker.validate.records": "Whether every record of a batch is read before it is appended, as Apache Kafka does. A setting of "
    "this broker, not of Apache Kafka.",
    "preallocate": "Whether a new segment gets its full size on disk at once.",
    "remote.copy.lag.bytes": "With tiered storage: a segment is copied once this many bytes follow it; -1 leaves it to "
    "remote.copy.lag.ms.",
    "remote.copy.lag.ms": "With tiered storage: a segment is copied once it is this old; -1 leaves it to "
    "remote.copy.lag.bytes.",
    "remote.log.copy.disable": "With tiered storage: stop copying segments to the tier.",
    "remote.log.delete.on.disable": "With tiered storage: delete what is in the tier when it is switched off.",
    "remote.storage.enable": "Whether the topic uses tiered storage, which this broker does not have.",
    "retention.bytes": "The oldest segments go when a partition is larger than this; -1 is no limit.",
    "retention.ms": "Segments go when their newest record is older than this; -1 is no limit.",
    "segment.bytes": "A new segment begins when this size would be passed.",
    "segment.index.bytes": "The largest offset index of a segment; a full one begins a new segment.",
    "segment.jitter.ms": "Up to this much is taken off segment.ms at random, so that segments do not all roll at once.",
    "segment.ms": "A new segment begins when the first record of the last one is older than this.",
    "unclean.leader.election.enable": "Whether a replica that is not in sync may become leader when no other is left, at "
    "the price of records.",
}
