"""Settings of a topic, in Kafka's order (it is the order of complaints). One that is not set comes from the broker."""

from pykbroker.config.definitions.abbreviations import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIST,
    LONG,
    MAX_DECOMPRESSED,
    MAX_LONG,
    MEDIUM,
    STRING,
)
from pykbroker.config.rules import UniqueList, at_least, between, gzip_level, one_of, throttled_replicas
from pykbroker.config.setting import Setting, table

#: Names of Confluent's classes, which say how a record's subject is named; the first is the default.
SUBJECT_STRATEGIES = tuple(
    f"io.confluent.kafka.serializers.subject.{each}Strategy" for each in ("TopicName", "RecordName", "TopicRecordName")
)

TOPIC_SETTINGS = table(
    Setting("segment.bytes", INT, 1_073_741_824, MEDIUM, at_least(1_048_576)),
    Setting("segment.ms", LONG, 604_800_000, MEDIUM, at_least(1)),
    Setting("segment.jitter.ms", LONG, 0, MEDIUM, at_least(0)),
    Setting("segment.index.bytes", INT, 10_485_760, MEDIUM, at_least(4)),
    Setting("flush.messages", LONG, MAX_LONG, MEDIUM, at_least(1)),
    Setting("flush.ms", LONG, MAX_LONG, MEDIUM, at_least(0)),
    Setting("retention.bytes", LONG, -1, MEDIUM),
    Setting("retention.ms", LONG, 604_800_000, MEDIUM, at_least(-1)),
    Setting("max.message.bytes", INT, 1_048_588, MEDIUM, at_least(0)),
    Setting("max.decompressed.message.bytes", INT, MAX_DECOMPRESSED, MEDIUM, between(1, MAX_DECOMPRESSED)),
    Setting("index.interval.bytes", INT, 4096, MEDIUM, at_least(0)),
    Setting("delete.retention.ms", LONG, 86_400_000, MEDIUM, at_least(0)),
    Setting("min.compaction.lag.ms", LONG, 0, MEDIUM, at_least(0)),
    Setting("max.compaction.lag.ms", LONG, MAX_LONG, MEDIUM, at_least(1)),
    Setting("file.delete.delay.ms", LONG, 60_000, MEDIUM, at_least(0)),
    Setting("min.cleanable.dirty.ratio", DOUBLE, 0.5, MEDIUM, between(0, 1)),
    Setting("cleanup.policy", LIST, ("delete",), MEDIUM, UniqueList("compact", "delete")),
    Setting("unclean.leader.election.enable", BOOLEAN, False, MEDIUM),
    Setting("min.insync.replicas", INT, 1, MEDIUM, at_least(1)),
    Setting(
        "compression.type",
        STRING,
        "producer",
        MEDIUM,
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    ),
    Setting("compression.gzip.level", INT, -1, MEDIUM, gzip_level),
    Setting("compression.lz4.level", INT, 9, MEDIUM, between(1, 17)),
    Setting("compression.zstd.level", INT, 3, MEDIUM, between(-131_072, 22)),
    Setting("preallocate", BOOLEAN, False, MEDIUM),
    Setting("message.timestamp.type", STRING, "CreateTime", MEDIUM, one_of("CreateTime", "LogAppendTime")),
    Setting("message.timestamp.before.max.ms", LONG, MAX_LONG, MEDIUM, at_least(0)),
    Setting("message.timestamp.after.max.ms", LONG, 3_600_000, MEDIUM, at_least(0)),
    Setting("leader.replication.throttled.replicas", LIST, (), MEDIUM, throttled_replicas),
    Setting("follower.replication.throttled.replicas", LIST, (), MEDIUM, throttled_replicas),
    Setting("remote.storage.enable", BOOLEAN, False, MEDIUM),
    Setting("local.retention.ms", LONG, -2, MEDIUM, at_least(-2)),
    Setting("local.retention.bytes", LONG, -2, MEDIUM, at_least(-2)),
    Setting("remote.log.copy.disable", BOOLEAN, False, MEDIUM),
    Setting("remote.copy.lag.ms", LONG, 0, MEDIUM, at_least(-1)),
    Setting("remote.copy.lag.bytes", LONG, -1, MEDIUM, at_least(-1)),
    Setting("remote.log.delete.on.disable", BOOLEAN, False, MEDIUM),
    Setting("errors.deadletterqueue.group.enable", BOOLEAN, False, MEDIUM),
    *(
        Setting(f"confluent.{part}.schema.validation", BOOLEAN, False, MEDIUM, internal=True)
        for part in ("key", "value")
    ),
    *(
        Setting(
            f"confluent.{part}.subject.name.strategy",
            STRING,
            SUBJECT_STRATEGIES[0],
            MEDIUM,
            one_of(*SUBJECT_STRATEGIES),
            internal=True,
        )
        for part in ("key", "value")
    ),
    Setting("pykbroker.validate.records", BOOLEAN, False, MEDIUM, internal=True),
    Setting("internal.segment.bytes", INT, None, MEDIUM, internal=True),
)
