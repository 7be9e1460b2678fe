"""Two clusters and a MirrorMaker between them, for the whole module; once with Apache Kafka as the second cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from compat_tests.conftest import make_target
from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.process import BrokerProcess
from compat_tests.harness.records import make_topics
from compat_tests.mirror.mirror_maker import MirrorMaker

#: Topics that are copied, by the tests that use them. They are there when MirrorMaker starts: for each one that comes
#: later its workers rebalance.
TOPICS = {name: f"moved-{name}" for name in ("records", "settings", "end", "lag", "killed")}


@dataclass
class Pair:
    """The clusters ``a`` and ``b``. The topics of one are copied to the other."""

    a: BrokerProcess
    b: BrokerProcess
    mirror_maker: MirrorMaker

    def flow(self, source: str) -> tuple[str, str]:
        """Bootstrap addresses: where it comes from, where it goes to."""
        both = {"a": self.a.bootstrap, "b": self.b.bootstrap}
        return both.pop(source), *both.values()


@pytest.fixture(scope="module")
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """The broker under test as ``a``; as ``b`` another of the ``same`` kind, or ``apache``, as the test asks for."""
    folder = tmp_path_factory.mktemp("mirror")
    a = make_target(folder / "a")
    b = make_target(folder / "b") if request.param == "same" else ApacheKafka(folder / "b")
    for broker in (a, b):
        broker.start()
        make_topics(broker.bootstrap, *TOPICS.values(), **{"retention.ms": "3600000"})
    mirror_maker = MirrorMaker(folder, a.bootstrap, b.bootstrap, "moved-.*")
    mirror_maker.start()
    yield Pair(a, b, mirror_maker)
    for process in (mirror_maker, b, a):
        process.stop()
