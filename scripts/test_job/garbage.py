"""A pytest plugin: what is there when all tests are collected stays to the end, so Python's collector of cycles does not look at it
again and again, neither then nor while tests are collected.
"""

from __future__ import annotations

import gc

gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    gc.collect()
    gc.freeze()
