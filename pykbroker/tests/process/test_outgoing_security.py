from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.process.log_directories import StartFailed
from pykbroker.process.outgoing_security import security_to
from pykbroker.runtime.clock import ManualClock
from pykbroker.security.client.settings import ClientSecurity
from pykbroker.tests.kit.certificates import authority

_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def to_controllers(protocol: str, **settings: str) -> ClientSecurity | None:
    return asked(config_of(protocol, **settings))()


def config_of(protocol: str, **settings: str) -> BrokerConfig:
    return BrokerConfig(
        {
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:{protocol}",
            "sasl.mechanism.controller.protocol": "PLAIN",
            **settings,
        }
    )


def asked(config: BrokerConfig) -> Callable[[], ClientSecurity | None]:
    return security_to(config, "CONTROLLER", "sasl.mechanism.controller.protocol", ManualClock(), random.Random(1))


def jaas(user: str) -> str:
    return f'{_MODULE} required username="{user}" password="p";'


def test_plaintext_has_no_security() -> None:
    assert to_controllers("PLAINTEXT") is None


@pytest.mark.parametrize(
    ("settings", "user"),
    [
        ({"sasl.jaas.config": jaas("all")}, "all"),
        ({"sasl.jaas.config": jaas("all"), "listener.name.controller.sasl.jaas.config": jaas("one")}, "one"),
        (
            {
                "listener.name.controller.sasl.jaas.config": jaas("one"),
                "listener.name.controller.plain.sasl.jaas.config": jaas("mechanism"),
                "listener.name.other.plain.sasl.jaas.config": jaas("other"),
            },
            "mechanism",
        ),
    ],
)
def test_what_is_said_nearest_to_the_listener_holds(settings: dict[str, str], user: str) -> None:
    found = to_controllers("SASL_PLAINTEXT", **settings)
    assert found is not None
    assert found.tls is None
    assert found.sasl is not None
    assert (found.sasl.name, found.sasl.user) == ("PLAIN", user)


def test_without_credentials_it_does_not_start() -> None:
    said = "the way to the listener CONTROLLER, by SASL_PLAINTEXT, is not set (listener.name.controller.plain.sasl.jaas.config): "
    with pytest.raises(StartFailed, match=re.escape(said)):
        to_controllers("SASL_PLAINTEXT")


def test_a_trust_store_that_is_not_there() -> None:
    with pytest.raises(StartFailed, match="CONTROLLER, by SSL, is not set: "):
        to_controllers("SSL", **{"ssl.truststore.location": "/nowhere", "ssl.truststore.type": "PEM"})


def test_renewed_certificates_hold_for_the_next_connection(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What is no certificate changes nothing, and is read again when it is one."""
    file = tmp_path / "trusted.pem"
    file.write_text(authority("first").pem)
    security = asked(config_of("SSL", **{"ssl.truststore.location": str(file), "ssl.truststore.type": "PEM"}))
    assert trusted(security) == ["first"]
    file.write_text("half a certificate")
    assert trusted(security) == ["first"]
    assert "Connections to the listener CONTROLLER have the certificates of before: " in caplog.text
    file.write_text(authority("another").pem)
    assert trusted(security) == ["another"]
    assert security() is security()


def trusted(security: Callable[[], ClientSecurity | None]) -> list[str]:
    """The names of the authorities that the next connection trusts."""
    found = security()
    assert found is not None
    assert found.tls is not None
    return [dict(part[0] for part in each["subject"])["commonName"] for each in found.tls.get_ca_certs()]
