"""Which seeds the models of the store run: ``STORE_SEEDS`` says how many, ``STORE_FIRST`` where to begin, so that many can be run in
parts; without them 250 in a whole run, and four times as many with PYKBROKER_LONG.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from pykbroker.tests.kit.depth import of_depths

_FIRST = int(os.environ.get("STORE_FIRST", "0"))
_COUNT = os.environ.get("STORE_SEEDS")


def seeds(count: int = of_depths(250, 250, 1000), *, found: Collection[int] = ()) -> list[int]:
    """``count`` of them where nothing else is said; in every run from the first seed on those, too, that have ``found`` something."""
    chosen = range(_FIRST, _FIRST + (count if _COUNT is None else int(_COUNT)))
    return [*chosen, *(seed for seed in found if seed >= chosen.stop and not _FIRST)]
