"""A broker with two Connect workers on it, both for the whole module: tests start again what they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.conftest import make_target
from compat_tests.connect.connectors import Connector
from compat_tests.connect.worker import Worker
from compat_tests.harness.process import BrokerProcess
from compat_tests.harness.records import make_topics

GROUP = "connect-cluster"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker of this module's own: it is restarted and killed."""
    process = make_target(tmp_path_factory.mktemp("broker"), {"offsets.topic.num.partitions": "5"})
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="module")
def workers(broker: BrokerProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Worker]]:
    """Two workers of one group whose source connectors write exactly once."""
    settings = {"exactly.once.source.support": "enabled"}
    made = [Worker(tmp_path_factory.mktemp("worker"), broker.bootstrap, GROUP, settings) for _ in range(2)]
    for worker in made:
        worker.launch()
    for worker in made:
        worker.await_ready()
    yield made
    for worker in made:
        worker.kill()  # Connect may take more than a minute to end; how it does is not under test


@pytest.fixture
def topic(broker: BrokerProcess, name: Callable[..., str]) -> str:
    """A topic of one partition, so that lines keep their order."""
    made = name("lines")
    make_topics(broker.bootstrap, made)
    return made


@pytest.fixture
def connector(workers: list[Worker], name: Callable[..., str]) -> Iterator[Callable[..., Connector]]:
    """Creates a connector: ``connector("FileStreamSource", file=..., topic=...)``. It is deleted after the test."""
    made: list[Connector] = []

    def create(kind: str, **config: str) -> Connector:
        made.append(Connector(workers[0], name(kind)))
        made[-1].create(kind, **{key.replace("_", "."): value for key, value in config.items()})
        return made[-1]

    yield create
    for each in made:
        each.delete()


class Lines:
    """A text file that grows, by lines of one length.

    A file source reads a kibibyte at a time and looks at what it holds only when there is more to read: lines that it
    read beyond its batch would wait for others. So a read is a whole number of lines, and a small batch is one read.
    """

    IN_ONE_READ = 16
    _WIDTH = 1024 // IN_ONE_READ - 1

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.touch()
        self.written: list[str] = []

    def append(self, count: int, what: str = "line") -> None:
        """Appends ``count`` lines that occur nowhere else in the file."""
        more = [
            f"{what} {number} ".ljust(self._WIDTH, ".")
            for number in range(len(self.written), len(self.written) + count)
        ]
        with self.path.open("a") as file:
            file.write("".join(line + "\n" for line in more))
        self.written += more


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    """The file that a source reads."""
    return Lines(tmp_path / "source.txt")
