"""The settings of Kafka 2.8, as 2.8.2 over ZooKeeper describes them."""

from __future__ import annotations

from typing import Final

from pykbroker.config.definitions.abbreviations import INT, LONG, MAX_LONG, MEDIUM, STRING
from pykbroker.config.definitions.definition_set import Definitions
from pykbroker.config.setting import Setting, table
from pykbroker.releases.settings import earlier

_ALSO: Final = table(
    Setting("advertised.host.name", STRING, None, MEDIUM),
    Setting("advertised.port", INT, None, MEDIUM),
    Setting("host.name", STRING, "", MEDIUM),
    Setting("port", INT, 9092, MEDIUM),
    Setting("quota.consumer.default", LONG, MAX_LONG, MEDIUM),
    Setting("quota.producer.default", LONG, MAX_LONG, MEDIUM),
    Setting("zookeeper.sync.time.ms", INT, 2000, MEDIUM),
)

#: Settings that came later: names, and prefixes of names.
_WITHOUT: Final = (
    "add.partitions.to.txn.",
    "compression.gzip.",
    "compression.lz4.",
    "compression.zstd.",
    "config.providers",
    "cordoned.log.dirs",
    "early.start.listeners",
    "follower.fetch.last.",
    "group.consumer.",
    "group.coordinator.",
    "group.share.",
    "group.streams.",
    "log.dir.failure.",
    "log.local.",
    "log.message.timestamp.after.",
    "log.message.timestamp.before.",
    "max.request.partition.",
    "producer.id.expiration.ms",
    "remote.",
    "sasl.login.connect.",
    "sasl.login.read.",
    "sasl.login.retry.",
    "sasl.oauthbearer.",
    "share.",
    "socket.listen.backlog.",
    "ssl.allow.",
    "telemetry.",
    "transaction.partition.",
    "transaction.two.phase.",
)
#: Values as today, in the order of 2.8.
_PROTOCOLS: Final = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
#: Settings of 2.8's early KRaft: accepted, but not described.
_TRIED_OUT: Final = (
    "broker.heartbeat.",
    "broker.session.",
    "controller.listener.",
    "controller.quorum.",
    "initial.broker.",
    "metadata.",
    "node.id",
    "process.",
    "sasl.mechanism.controller.",
)
_OF_TOPICS: Final = ("compression.gzip.", "compression.lz4.", "compression.zstd.", "local.", "message.timestamp.after.",
                     "message.timestamp.before.", "remote.")  # fmt: skip


def _definitions() -> Definitions:
    known = earlier(
        "2.8",
        also=_ALSO,
        without=_WITHOUT,
        topics_without=_OF_TOPICS,
        defaults={
            "inter.broker.protocol.version": "2.8-IV1",
            "listener.security.protocol.map": _PROTOCOLS,
            "log.message.format.version": "2.8-IV1",
            "message.format.version": "2.8-IV1",
            "metric.reporters": (),
            "num.recovery.threads.per.data.dir": 1,
            "principal.builder.class": None,
        },
        beneath={"log.message.timestamp.after.max.ms": MAX_LONG, "transaction.partition.verification.enable": False},
    )
    hidden = {
        name: setting._replace(internal=True) for name, setting in known.broker.items() if name.startswith(_TRIED_OUT)
    }
    return known._replace(broker={**known.broker, **hidden})


DEFINITIONS: Final = _definitions()
