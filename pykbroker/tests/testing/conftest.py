"""A broker for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pykbroker.testing import Kafka


@pytest.fixture
def broker() -> Iterator[Kafka]:
    with Kafka() as made:
        yield made
