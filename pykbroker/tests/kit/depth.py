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


def of_depths(quick: int, whole: int, long: int) -> int:
    """Return the number for the depth of this run."""
    return quick if is_quick() else long if LONG_VARIABLE in os.environ else whole


def examples(number: int) -> int:
    """Return how many examples of a model Hypothesis tries: ``number``, or a tenth in a quick run."""
    return max(5, number // 10) if is_quick() else number
