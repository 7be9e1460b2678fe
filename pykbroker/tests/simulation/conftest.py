"""What tests of simulations share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def silent() -> Iterator[None]:
    """Brokers log what befalls them; nobody is told."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
