"""The settings of a release before 4.0, as changes to those of 4.3: additional ones, missing ones, other defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pykbroker.config.definitions.abbreviations import (
    BOOLEAN,
    CLUSTER_WIDE,
    INT,
    LIST,
    LONG,
    MAX_LONG,
    MEDIUM,
    PASSWORD,
    SHORT,
    STRING,
)
from pykbroker.config.definitions.definition_set import Definitions
from pykbroker.config.rules import at_least
from pykbroker.config.setting import Setting, table
from pykbroker.releases.kafka_4_3_settings import DEFINITIONS as OF_4_3
from pykbroker.releases.kafka_4_3_settings import begins

#: Removed in Kafka 4.0 with ZooKeeper and the old message formats. They are described, and have no effect.
FORMER: Final = table(
    Setting("broker.id.generation.enable", BOOLEAN, True, MEDIUM),
    Setting("control.plane.listener.name", STRING, None, MEDIUM),
    Setting("controlled.shutdown.max.retries", INT, 3, MEDIUM),
    Setting("controlled.shutdown.retry.backoff.ms", LONG, 5000, MEDIUM),
    Setting("delegation.token.master.key", PASSWORD, None, MEDIUM),
    Setting("inter.broker.protocol.version", STRING, None, MEDIUM),
    Setting("leader.imbalance.per.broker.percentage", INT, 10, MEDIUM),
    Setting("log.message.downconversion.enable", BOOLEAN, True, MEDIUM, update=CLUSTER_WIDE),
    Setting("log.message.format.version", STRING, None, MEDIUM),
    Setting("log.message.timestamp.difference.max.ms", LONG, MAX_LONG, MEDIUM, at_least(0), CLUSTER_WIDE),
    Setting("offsets.commit.required.acks", SHORT, -1, MEDIUM),
    Setting("password.encoder.cipher.algorithm", STRING, "AES/CBC/PKCS5Padding", MEDIUM),
    Setting("password.encoder.iterations", INT, 4096, MEDIUM),
    Setting("password.encoder.key.length", INT, 128, MEDIUM),
    Setting("password.encoder.keyfactory.algorithm", STRING, None, MEDIUM),
    Setting("password.encoder.old.secret", PASSWORD, None, MEDIUM),
    Setting("password.encoder.secret", PASSWORD, None, MEDIUM),
    Setting("reserved.broker.max.id", INT, 1000, MEDIUM),
    Setting("zookeeper.clientCnxnSocket", STRING, None, MEDIUM),
    Setting("zookeeper.connect", STRING, None, MEDIUM),
    Setting("zookeeper.connection.timeout.ms", INT, None, MEDIUM),
    Setting("zookeeper.max.in.flight.requests", INT, 10, MEDIUM),
    Setting("zookeeper.session.timeout.ms", INT, 18_000, MEDIUM),
    Setting("zookeeper.set.acl", BOOLEAN, False, MEDIUM),
    Setting("zookeeper.ssl.cipher.suites", LIST, None, MEDIUM),
    Setting("zookeeper.ssl.client.enable", BOOLEAN, False, MEDIUM),
    Setting("zookeeper.ssl.crl.enable", BOOLEAN, False, MEDIUM),
    Setting("zookeeper.ssl.enabled.protocols", LIST, None, MEDIUM),
    Setting("zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS", MEDIUM),
    Setting("zookeeper.ssl.keystore.location", STRING, None, MEDIUM),
    Setting("zookeeper.ssl.keystore.password", PASSWORD, None, MEDIUM),
    Setting("zookeeper.ssl.keystore.type", STRING, None, MEDIUM),
    Setting("zookeeper.ssl.ocsp.enable", BOOLEAN, False, MEDIUM),
    Setting("zookeeper.ssl.protocol", STRING, "TLSv1.2", MEDIUM),
    Setting("zookeeper.ssl.truststore.location", STRING, None, MEDIUM),
    Setting("zookeeper.ssl.truststore.password", PASSWORD, None, MEDIUM),
    Setting("zookeeper.ssl.truststore.type", STRING, None, MEDIUM),
)

_FORMER_OF_TOPICS: Final = table(
    Setting("message.downconversion.enable", BOOLEAN, True, MEDIUM),
    Setting("message.format.version", STRING, None, MEDIUM),
    Setting("message.timestamp.difference.max.ms", LONG, MAX_LONG, MEDIUM, at_least(0)),
)

#: Before 4.0 a segment could be as small as a batch's header.
_SMALL_SEGMENTS: Final = at_least(14)


def earlier(
    release: str,
    *,
    also: Mapping[str, Setting],
    without: tuple[str, ...],
    topics_without: tuple[str, ...] = (),
    defaults: Mapping[str, Any],
    beneath: Mapping[str, Any] | None = None,
) -> Definitions:
    """Return the settings of a release: those of 4.3, FORMER and ``also``.

    They lack the names, and the prefixes that end with a dot, in ``without``; ``defaults`` are its own; ``beneath`` are
    values of settings that it did not have.
    """
    broker = {
        name: setting
        for name, setting in {**OF_4_3.broker, **FORMER, **also}.items()
        if not begins(name, without) or setting.internal
    }
    topics = {
        name: setting
        for name, setting in {**OF_4_3.topics, **_FORMER_OF_TOPICS}.items()
        if not begins(name, topics_without)
    }
    for settings in (broker, topics):
        settings |= {
            name: settings[name]._replace(default=value) for name, value in defaults.items() if name in settings
        }
    broker["log.segment.bytes"] = broker["log.segment.bytes"]._replace(rule=_SMALL_SEGMENTS)
    topics["segment.bytes"] = topics["segment.bytes"]._replace(rule=_SMALL_SEGMENTS)
    behind = {name: ((f"log.{name}", 1),) for name in _FORMER_OF_TOPICS}
    return Definitions(
        release, broker, topics, {**OF_4_3.topic_synonyms, **behind}, {**OF_4_3.beneath, **(beneath or {})}
    )
