"""The settings of Kafka 3.9, as 3.9.1 describes them."""

from __future__ import annotations

from typing import Final

from pykbroker.config.definitions.abbreviations import BOOLEAN, MAX_LONG, MEDIUM, SHORT
from pykbroker.config.definitions.definition_set import Definitions
from pykbroker.config.setting import Setting, table
from pykbroker.releases.settings import earlier

_ALSO: Final = table(
    Setting("auto.include.jmx.reporter", BOOLEAN, True, MEDIUM),
    Setting("eligible.leader.replicas.enable", BOOLEAN, False, MEDIUM),
    Setting("group.share.max.groups", SHORT, 10, MEDIUM),
    Setting("zookeeper.metadata.migration.enable", BOOLEAN, False, MEDIUM),
)

#: Settings that came later: names, and prefixes of names.
_WITHOUT: Final = (
    "add.partitions.to.txn.",
    "config.providers",
    "controller.quorum.auto.",
    "controller.quorum.fetch.max.",
    "controller.quorum.fetch.snapshot.",
    "cordoned.log.dirs",
    "follower.fetch.last.",
    "group.consumer.assignment.",
    "group.consumer.max.assignment.",
    "group.consumer.migration.",
    "group.consumer.min.assignment.",
    "group.coordinator.background.",
    "group.coordinator.cached.",
    "group.share.assignment.",
    "group.share.assignors",
    "group.share.max.assignment.",
    "group.share.max.delivery.",
    "group.share.max.partition.",
    "group.share.max.share.",
    "group.share.min.assignment.",
    "group.share.min.delivery.",
    "group.share.min.partition.",
    "group.streams.",
    "remote.list.offsets.",
    "remote.log.manager.follower.",
    "sasl.oauthbearer.assertion.",
    "sasl.oauthbearer.client.",
    "sasl.oauthbearer.jwt.",
    "sasl.oauthbearer.scope",
    "share.",
    "transaction.two.phase.",
)
DEFINITIONS: Final[Definitions] = earlier(
    "3.9",
    also=_ALSO,
    without=_WITHOUT,
    defaults={
        "group.coordinator.append.linger.ms": 10,
        "group.coordinator.rebalance.protocols": ("classic",),
        "group.coordinator.threads": 1,
        "group.share.partition.max.record.locks": 200,
        "inter.broker.protocol.version": "3.9-IV0",
        "log.message.format.version": "3.0-IV1",
        "log.message.timestamp.after.max.ms": MAX_LONG,
        "message.format.version": "3.0-IV1",
        "message.timestamp.after.max.ms": MAX_LONG,
        "metric.reporters": (),
        "num.recovery.threads.per.data.dir": 1,
        "remote.log.manager.copier.thread.pool.size": -1,
        "remote.log.manager.expiration.thread.pool.size": -1,
        "remote.log.manager.thread.pool.size": 10,
        "sasl.oauthbearer.expected.audience": None,
    },
)
