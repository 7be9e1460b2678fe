"""One broker under test with every kind of listener, for all stock clients."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from compat_tests.conftest import TARGET
from compat_tests.security.listeners import Listeners, SecuredKafka, SecuredPykbroker, certificates
from compat_tests.security.tokens import Issuer, unsecured
from compat_tests.security.users import SCRAM_USERS, add_users


@pytest.fixture(scope="package")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listeners]:
    folder = tmp_path_factory.mktemp("secured")
    listeners = Listeners(certificates(folder, Issuer()))
    kind = SecuredKafka if TARGET == "kafka" else SecuredPykbroker
    broker = kind(folder / TARGET, listeners)
    broker.start()
    try:
        add_users(listeners.address("PLAINTEXT"))
        yield listeners
    finally:
        broker.stop()


@pytest.fixture
def reported(secured: Listeners, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a program of cases says where the listeners are, and what opens them."""
    for name, value in {
        "LISTENERS": json.dumps({name: secured.address(name) for name in secured.ports}),
        "AUTHORITY": str(secured.files.authority),
        "CERTIFICATE": str(secured.files.alice),
        "TOKEN": unsecured(),
        "SCRAM": f"bob:{SCRAM_USERS['bob']}",
    }.items():
        monkeypatch.setenv(f"SECURED_{name}", value)
