"""Fixtures shared by every suite: the brokers under test and names for topics and groups.

A suite takes ``target``: pykbroker, or Apache Kafka with ``PYKBROKER_TARGET=kafka``. Every suite passes against both;
a test that fails against Apache Kafka is a wrong test.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.harness.apache import METRICS_TAKER, ApacheKafka
from compat_tests.harness.java import compile_java
from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import NO_RETENTION_MS, BrokerProcess
from pykbroker.tests.kit.signals import as_at_a_terminal

_KINDS: dict[str, type[BrokerProcess]] = {"kafka": ApacheKafka, "pykbroker": Pykbroker}
TARGET = os.environ.get("PYKBROKER_TARGET", "pykbroker")
#: Tests that take long beside what they show more than others.
LONG = "PYKBROKER_LONG" in os.environ
#: Ten minutes after its start, a broker for a whole session would otherwise remove groups without offsets, at which a test may look.
KEEPING_GROUPS = {"offsets.retention.check.interval.ms": NO_RETENTION_MS}
takes_long = pytest.mark.skipif(not LONG, reason="it takes long: PYKBROKER_LONG=1 has it run")


def pytest_configure() -> None:
    if TARGET not in _KINDS:
        raise pytest.UsageError(f"PYKBROKER_TARGET is {TARGET!r}; it may be one of {', '.join(_KINDS)}")
    as_at_a_terminal()


def make_target(folder: Path, settings: dict[str, str] | None = None) -> BrokerProcess:
    """A broker of the kind under test, not started."""
    return _KINDS[TARGET](folder, settings)


def _run(broker: BrokerProcess) -> Iterator[BrokerProcess]:
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """Apache Kafka, the oracle: one for the whole session, started when a test first wants it. It takes clients' metrics."""
    taker = compile_java([METRICS_TAKER], ApacheKafka.jars)
    settings = {"metric.reporters": METRICS_TAKER.stem, **KEEPING_GROUPS}
    yield from _run(ApacheKafka(tmp_path_factory.mktemp("kafka"), settings, plugins=taker))


@pytest.fixture(scope="session")
def pykbroker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pykbroker]:
    """pykbroker, but for that with default settings: one for the whole session."""
    yield from _run(Pykbroker(tmp_path_factory.mktemp("pykbroker"), KEEPING_GROUPS))


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> BrokerProcess:
    """The broker under test, shared by the session. Tests keep to topics and groups of their own."""
    return request.getfixturevalue(TARGET)


@pytest.fixture(scope="session")
def bootstrap(target: BrokerProcess) -> str:
    """``host:port`` of the broker under test."""
    return target.bootstrap


@pytest.fixture
def start_target(tmp_path: Path) -> Iterator[Callable[..., BrokerProcess]]:
    """Starts a broker of the kind under test for this test alone: ``start_target({"setting": "value"})``.

    ``port`` is where it listens; without one, it is a free one.
    """
    started: list[BrokerProcess] = []

    def start(settings: dict[str, str] | None = None, port: int = 0) -> BrokerProcess:
        broker = make_target(tmp_path / f"{TARGET}-{len(started)}", settings)
        broker.port = port
        started.append(broker)
        broker.start()
        return broker

    yield start
    for broker in started:
        broker.stop()


@pytest.fixture(scope="session")
def kafka_tools() -> Iterator[KafkaTools]:
    """Kafka's command-line tools, in one Java process for the session."""
    with closing(KafkaTools()) as tools:
        yield tools


_numbers = itertools.count()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> Callable[..., str]:
    """Makes a name that no other test uses, for topics, groups and clients: ``name("orders")``."""
    test = re.sub(r"[^a-zA-Z0-9_-]+", "-", request.node.name)[:60]

    def make(what: str = "t") -> str:
        return f"{test}-{what}-{next(_numbers)}"

    return make
