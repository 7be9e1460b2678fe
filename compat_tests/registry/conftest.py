"""One broker with a schema registry, reset for each test."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from pykbroker.testing import Kafka

HERE = Path(__file__).parent
#: An environment from before the registry lacks its clients' packages; scripts/test brings them.
collect_ignore_glob = [] if find_spec("authlib") and find_spec("schema_registry") else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # httpx leaves the sockets of clients that nobody closes to the garbage collector.
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="package")
def broker() -> Iterator[Kafka]:
    with Kafka(schema_registry=True) as found:
        yield found
    gc.collect()  # what clients left open is closed here, where the warnings about it are expected


@pytest.fixture
def kafka(broker: Kafka) -> Kafka:
    broker.reset()
    return broker
