"""What settings of Kafka's clients ask for. How it is with real brokers: tests/cli/test_command_config.py, compat_tests/security."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from pykbroker.security.client.settings import ClientSecurity, ClientSettingsError, client_security, unknown
from pykbroker.tests.kit.certificates import authority

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'
TRUST = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority().certificate}
SASL = {"sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS}


def made(**settings: str) -> Any:
    return client_security({name.replace("_", "."): text for name, text in settings.items()}, lambda: 0, lambda: "n")


def test_without_more_it_is_plain() -> None:
    assert made() is None
    assert made(security_protocol="plaintext") is None


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_each_protocol_has_what_its_name_says(protocol: str) -> None:
    found = made(security_protocol=protocol, **TRUST, **SASL)
    assert isinstance(found, ClientSecurity)
    assert (found.tls is not None, found.sasl is not None) == ("SSL" in protocol, "SASL" in protocol)


def test_names_of_hosts_are_checked_unless_that_is_switched_off() -> None:
    for text, checked in (("https", True), ("HTTPS", True), ("", False)):
        found = made(security_protocol="SSL", **TRUST, ssl_endpoint_identification_algorithm=text)
        assert (found.tls.check_hostname, found.tls.verify_mode) == (checked, ssl.CERT_REQUIRED)
    assert made(security_protocol="SSL", **TRUST).tls.check_hostname


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"security_protocol": "TLS"}, "security.protocol is TLS; it must be one of PLAINTEXT, SSL"),
        ({"security_protocol": "SSL", "ssl_endpoint_identification_algorithm": "LDAPS"}, "it must be https, or empty"),
        ({"security_protocol": "SSL", "ssl_truststore_location": "/no/such.pem"}, "/no/such.pem cannot be read"),
        ({"security_protocol": "SSL", "ssl_enabled_protocols": "TLSv1.1"}, "leaves no protocol version"),
        ({"security_protocol": "SASL_PLAINTEXT"}, "sasl.mechanism=GSSAPI"),
    ],
)
def test_what_nobody_can_connect_with(settings: dict[str, str], why: str) -> None:
    with pytest.raises(ClientSettingsError, match=why):
        made(**settings)


def test_misspelt_settings_are_known_from_those_that_only_java_has() -> None:
    settings = [
        "sasl.mechansim",
        "ssl.truststore.path",
        "ssl.provider",
        "sasl.login.refresh.buffer.seconds",
        "acks",
        *TRUST,
    ]
    assert unknown(dict.fromkeys(settings, "")) == ["sasl.mechansim", "ssl.truststore.path"]
