"""One broker for each release and module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.harness.process import BrokerProcess
from compat_tests.releases.brokers import RELEASES, AsVersion, apache
from scripts.jars import JarsUnavailable


@pytest.fixture(scope="module", params=RELEASES)
def release_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def ours(release_name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AsVersion]:
    """pykbroker, taken for the release."""
    broker = AsVersion(tmp_path_factory.mktemp("as-version"), release_name)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def theirs(release_name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Apache Kafka of the release, if its jars can be had."""
    broker = apache(release_name, tmp_path_factory.mktemp("apache"))
    try:
        broker.start()
    except JarsUnavailable as error:
        pytest.skip(str(error))
    yield broker
    broker.kill()
