"""Settings of brokers among themselves. What Apache Kafka refuses of them: compat_tests/settings."""

from __future__ import annotations

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError

LISTENERS = {
    "listeners": "IN://localhost:1,OUT://localhost:2",
    "listener.security.protocol.map": "IN:PLAINTEXT,OUT:SASL_SSL,CONTROLLER:PLAINTEXT",
}


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"inter.broker.listener.name": "IN", "security.inter.broker.protocol": "SSL"}, "only one may be"),
        ({"inter.broker.listener.name": "NOWHERE"}, "is NOWHERE, which listener.security.protocol.map does not name"),
        ({"security.inter.broker.protocol": "SSL"}, "security.inter.broker.protocol is SSL, which"),
        ({"inter.broker.listener.name": "CONTROLLER"}, "there are IN, OUT"),
        (
            {"inter.broker.listener.name": "OUT", "sasl.enabled.mechanisms": "PLAIN"},
            "is GSSAPI, and .* OUT, .* has PLAIN: add it",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(settings: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        BrokerConfig({**LISTENERS, **settings})


def test_what_is_set_is_kept() -> None:
    config = BrokerConfig(
        {
            **LISTENERS,
            "inter.broker.listener.name": "out",
            "listener.name.out.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        }
    )
    assert config.inter_broker_listener_name == "OUT"
    assert config["sasl.mechanism.inter.broker.protocol"] == "SCRAM-SHA-512"


def test_where_nothing_is_set_the_default_need_not_be_there() -> None:
    assert BrokerConfig(LISTENERS).inter_broker_listener_name == "PLAINTEXT"
