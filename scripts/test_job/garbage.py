"""A pytest plugin: what is there when all tests are collected stays to the end, so Python's collector of cycles does not look at it
again and again.
"""

from __future__ import annotations

import gc


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
