"""One realm, and one broker under test in it, for all stock clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.conftest import TARGET
from compat_tests.kerberos.brokers import Listeners, broker
from pykbroker.tests.kit.kerberos import Realm, running_realm


@pytest.fixture(scope="package")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with running_realm(tmp_path_factory.mktemp("realm")) as realm:
        realm.principal("http/localhost")
        yield realm


@pytest.fixture(scope="package")
def listeners(realm: Realm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listeners]:
    listeners = Listeners(realm)
    server = broker(TARGET, tmp_path_factory.mktemp("kerberos"), listeners)
    server.start()
    try:
        yield listeners
    finally:
        server.stop()
