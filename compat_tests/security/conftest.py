"""One broker under test with every kind of listener, for all stock clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.conftest import TARGET
from compat_tests.security.listeners import Listeners, SecuredKafka, SecuredPykbroker, certificates
from compat_tests.security.tokens import Issuer
from compat_tests.security.users import add_users


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
