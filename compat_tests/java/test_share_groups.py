"""Share groups (KIP-932) with Java's KafkaShareConsumer: both acknowledgement modes, redelivery, and the administrator's client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.conftest import make_target
from compat_tests.harness.java_cases import JavaCases, wanted_cases

_FOLDER = Path(__file__).parent
_CASES = JavaCases(_FOLDER / "ShareCases.java", "kafka", helpers=(_FOLDER / "Clients.java",))

#: A member has its partitions with its second heartbeat, which by default comes after five seconds.
_QUICK_HEARTBEATS = {
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "200",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    broker = make_target(tmp_path_factory.mktemp("share"), _QUICK_HEARTBEATS)
    broker.start()
    yield broker.bootstrap
    broker.stop()


@pytest.mark.parametrize("case", _CASES.names)
def test_case(request: pytest.FixtureRequest, address: str, case: str) -> None:
    wanted = [name for name in wanted_cases(request) if name in _CASES.names]
    _CASES.check(case, address, wanted)
