"""A broker for clients' own suites: listeners with TLS and SASL beside the plain one, and an authorizer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from compat_tests.conftest import TARGET
from compat_tests.harness.process import BrokerProcess
from compat_tests.security.listeners import Listeners, SecuredKafka, SecuredPykbroker, certificates
from compat_tests.security.tokens import Issuer

#: What those suites ask for that test access lists: they are kept, and hinder nobody where there are none.
AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


class StartSecured(Protocol):
    """Starts a broker of the kind under test with these settings, which tells clients that it is at ``host``; where it
    listens, and its certificates.
    """

    def __call__(self, settings: dict[str, str], host: str = "127.0.0.1") -> Listeners: ...


@pytest.fixture
def start_secured(tmp_path: Path) -> Iterator[StartSecured]:
    """Brokers for this test alone."""
    started: list[BrokerProcess] = []

    def start(settings: dict[str, str], host: str = "127.0.0.1") -> Listeners:
        listeners = Listeners(certificates(tmp_path, Issuer()))
        advertised = listeners.listeners.replace("127.0.0.1", host)
        kind = SecuredKafka if TARGET == "kafka" else SecuredPykbroker
        started.append(
            kind(tmp_path / TARGET, listeners, {**AUTHORIZED, "advertised.listeners": advertised, **settings})
        )
        started[-1].start()
        return listeners

    yield start
    for broker in started:
        broker.stop()
