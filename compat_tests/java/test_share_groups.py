"""Share groups (KIP-932) with Java's KafkaShareConsumer and the administrator's client, which has the subjects of Kafka's ShareConsumerTest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.conftest import make_target
from compat_tests.harness.java_cases import JavaCases, wanted_cases

_FOLDER = Path(__file__).parent
_PAGE = Path(__file__).parents[2] / "docs" / "share-groups.md"
_HELPERS = _FOLDER / "Clients.java", _FOLDER / "ShareClients.java"
_SOURCES = "ShareCases", "ShareConsumerCases", "ShareGroupCases"
_CASES = {each: JavaCases(_FOLDER / f"{each}.java", "kafka", helpers=_HELPERS) for each in _SOURCES}
_SOURCE_OF = {case: source for source, cases in _CASES.items() for case in cases.names}

#: A member has its partitions with its second heartbeat, which by default comes after five seconds.
_QUICK_HEARTBEATS = {
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.max.size": "5",
    "auto.create.topics.enable": "false",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    broker = make_target(tmp_path_factory.mktemp("share"), _QUICK_HEARTBEATS)
    broker.start()
    yield broker.bootstrap
    broker.stop()


@pytest.mark.parametrize("case", _SOURCE_OF)
def test_case(request: pytest.FixtureRequest, address: str, case: str) -> None:
    cases = _CASES[_SOURCE_OF[case]]
    wanted = [name for name in wanted_cases(request) if name in cases.names]
    cases.check(case, address, wanted)


def test_the_page_names_each_case() -> None:
    page = _PAGE.read_text()
    assert [case for case in _SOURCE_OF if case not in page] == []
