"""The oracle's own pykbroker: its requests leave groups and topics that no well-behaved tool of another suite expects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.conftest import KEEPING_GROUPS
from compat_tests.harness.ours import Pykbroker


@pytest.fixture(scope="package")
def pykbroker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pykbroker]:
    broker = Pykbroker(tmp_path_factory.mktemp("pykbroker-oracle"), KEEPING_GROUPS)
    broker.start()
    yield broker
    broker.stop()
