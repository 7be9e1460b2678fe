"""How deep a run of the tests looks: ``scripts/test --quick`` sets QUICK_VARIABLE, and the whole run does not."""

from __future__ import annotations

import os
from typing import Final

QUICK_VARIABLE: Final = "PYKBROKER_QUICK"


def is_quick() -> bool:
    """Whether this is a quick run."""
    return QUICK_VARIABLE in os.environ


def examples(number: int) -> int:
    """Return how many examples of a model Hypothesis tries: ``number``, or a tenth in a quick run."""
    return max(5, number // 10) if is_quick() else number
