"""A pytest plugin for quick runs: tests marked ``deep`` are left out, and of a test with many sets of parameters (seeds, operations that
fail), an even spread is run. What is left out counts as deselected.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

#: A test with more sets of parameters than this is thinned to so many.
MOST_SETS = 60


@pytest.hookimpl(tryfirst=True)  # others look at each item, most of which go
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    sets: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("deep") is None:
            sets[item.nodeid.partition("[")[0]].append(item)
    kept = {id(each) for same in sets.values() for each in spread(same)}
    left_out = [item for item in items if id(item) not in kept]
    if left_out:
        items[:] = [item for item in items if id(item) in kept]
        config.hook.pytest_deselected(items=left_out)


def spread(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return all of them, or MOST_SETS of them from the first to the last."""
    if len(items) <= MOST_SETS:
        return items
    return [items[number * (len(items) - 1) // (MOST_SETS - 1)] for number in range(MOST_SETS)]
