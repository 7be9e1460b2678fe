"""Settings of a group (KIP-848, KIP-932, KIP-1071). One that is not set comes from the broker."""

from pykbroker.config.definitions.abbreviations import BOOLEAN, INT, LIST, LONG, LOW, MEDIUM, STRING
from pykbroker.config.rules import UniqueList, at_least, one_of, share_offset_reset
from pykbroker.config.setting import Setting, table

GROUP_SETTINGS = table(
    Setting("consumer.session.timeout.ms", INT, 45_000, MEDIUM, at_least(1)),
    Setting("consumer.heartbeat.interval.ms", INT, 5000, MEDIUM, at_least(1)),
    Setting("consumer.assignment.interval.ms", INT, 1000, MEDIUM, at_least(0)),
    Setting("consumer.assignor.offload.enable", BOOLEAN, True, MEDIUM, internal=True),
    Setting("share.session.timeout.ms", INT, 45_000, MEDIUM, at_least(1)),
    Setting("share.heartbeat.interval.ms", INT, 5000, MEDIUM, at_least(1)),
    Setting("share.record.lock.duration.ms", INT, 30_000, MEDIUM, at_least(1000)),
    Setting("share.delivery.count.limit", INT, 5, MEDIUM, at_least(2)),
    Setting("share.partition.max.record.locks", INT, 2000, MEDIUM, at_least(100)),
    Setting("share.auto.offset.reset", STRING, "latest", MEDIUM, share_offset_reset),
    Setting("share.isolation.level", STRING, "read_uncommitted", MEDIUM, one_of("read_committed", "read_uncommitted")),
    Setting("share.renew.acknowledge.enable", BOOLEAN, True, MEDIUM),
    Setting("share.assignment.interval.ms", INT, 1000, MEDIUM, at_least(0)),
    Setting("share.assignor.offload.enable", BOOLEAN, True, MEDIUM, internal=True),
    Setting("streams.session.timeout.ms", INT, 45_000, MEDIUM, at_least(1)),
    Setting("streams.heartbeat.interval.ms", INT, 5000, MEDIUM, at_least(1)),
    Setting("streams.num.standby.replicas", INT, 0, MEDIUM, at_least(0)),
    Setting("streams.initial.rebalance.delay.ms", INT, 3000, MEDIUM, at_least(0)),
    Setting("streams.assignment.interval.ms", INT, 1000, MEDIUM, at_least(0)),
    Setting("streams.assignor.offload.enable", BOOLEAN, True, MEDIUM, internal=True),
    Setting("streams.task.offset.interval.ms", INT, 60_000, MEDIUM, at_least(1), internal=True),
    Setting("streams.num.warmup.replicas", INT, 2, MEDIUM, at_least(0), internal=True),
    Setting("streams.rack.aware.assignment.tags", LIST, (), LOW, UniqueList()),
    Setting("streams.acceptable.recovery.lag", LONG, 10_000, MEDIUM, at_least(0), internal=True),
    Setting("streams.assignor.name", STRING, None, MEDIUM),
    Setting("errors.deadletterqueue.topic.name", STRING, "", MEDIUM),
    Setting("errors.deadletterqueue.copy.record.enable", BOOLEAN, False, MEDIUM),
)
