"""How deep a run of the tests looks: ``scripts/test --quick`` sets QUICK_VARIABLE, the whole run does not, and who looks for faults
sets LONG_VARIABLE.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TypeVar

T = TypeVar("T")

QUICK_VARIABLE: Final = "PYKBROKER_QUICK"
LONG_VARIABLE: Final = "PYKBROKER_LONG"


def is_quick() -> bool:
    """Whether this is a quick run."""
    return QUICK_VARIABLE in os.environ


def is_long() -> bool:
    """Whether this run looks for faults: for as long as it takes, and in what no run has seen."""
    return LONG_VARIABLE in os.environ


def of_depths(quick: int, whole: int, long: int) -> int:
    """Return the number for the depth of this run."""
    return quick if is_quick() else long if is_long() else whole


def examples(number: int) -> int:
    """Return how many examples of a model Hypothesis tries: ``number``, a tenth in a quick run, ten times as many in a long one."""
    return of_depths(max(5, number // 10), number, 10 * number)


def in_turn(number: int, each: Sequence[T], at_once: int = 3) -> Sequence[T]:
    """Return all; in a quick run ``at_once`` of them, by ``number`` the next ones, so that a row of subjects has each of them."""
    if not is_quick() or len(each) <= at_once:
        return each
    return [each[(number * at_once + place) % len(each)] for place in range(at_once)]
