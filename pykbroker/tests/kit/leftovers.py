"""What stock clients leave open: collected in the test that made them, so that no later one is blamed.

``leftovers = pytest.fixture(autouse=True)(collect_leftovers)`` in a module of tests, or in its conftest.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator


def collect_leftovers() -> Iterator[None]:
    """kafka-python leaves some of its sockets to the garbage collector, also where a client is closed."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
