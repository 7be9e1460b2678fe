"""A pytest plugin for quick runs: tests marked ``deep`` are left out, and of a test with many sets of parameters (seeds, operations that
fail), an even spread is run; of one marked ``deep(but=3)``, three sets. What is left out counts as deselected.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

#: A test with more sets of parameters than this is thinned to so many.
MOST_SETS = 6


@pytest.hookimpl(tryfirst=True)  # others look at each item, most of which go
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    sets: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        sets[item.nodeid.partition("[")[0], _most(item)].append(item)
    kept = {id(each) for (_, most), same in sets.items() for each in spread(same, most)}
    left_out = [item for item in items if id(item) not in kept]
    if left_out:
        items[:] = [item for item in items if id(item) in kept]
        config.hook.pytest_deselected(items=left_out)


def _most(item: pytest.Item) -> int:
    marker = item.get_closest_marker("deep")
    return MOST_SETS if marker is None else marker.kwargs.get("but", 0)


def spread(items: list[pytest.Item], most: int = MOST_SETS) -> list[pytest.Item]:
    """Return all of them, or ``most`` of them from the first to the last."""
    if len(items) <= most:
        return items
    return [items[number * (len(items) - 1) // max(1, most - 1)] for number in range(most)]
