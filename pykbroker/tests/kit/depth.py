"""How deep a run of the tests looks: ``scripts/test --quick`` sets QUICK_VARIABLE, the whole run does not, and who looks for faults
sets LONG_VARIABLE.
"""

from __future__ import annotations

import os
from typing import Final

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
