"""Rules that are switched off, one at a time: of many small worlds one must notice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from pykbroker.tests.simulation.copies import Violation

#: Worlds of which one must notice that a rule is off.
_MOST = 300


def assert_needed(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, without: Any, world: Callable[[int], object], seed: int
) -> None:
    """A world is as it should be, and with ``without`` in the place of the rule it is not, or another one is not."""
    world(seed)
    monkeypatch.setattr(owner, name, without)
    with pytest.raises(Violation):
        _live(world, (seed, *range(_MOST)))


def _live(world: Callable[[int], object], seeds: Iterable[int]) -> None:
    for seed in seeds:
        world(seed)
