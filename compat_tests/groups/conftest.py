"""A broker whose consumer groups settle quickly: members of the new protocol beat as often as it tells them to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.conftest import make_target

QUICK = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
}


@pytest.fixture(scope="package")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    broker = make_target(tmp_path_factory.mktemp("consumer-protocol"), QUICK)
    broker.start()
    yield broker.bootstrap
    broker.stop()
