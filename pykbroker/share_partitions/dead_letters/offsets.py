"""The offsets of records that were given up, asked for one at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.share_partitions.states import GivenUp


class GivenUpOffsets:
    """Whether an offset was given up, found by bisection: there may be as many ranges as records in flight."""

    def __init__(self, given_up: Iterable[GivenUp]) -> None:
        self._ranges = sorted((each.first, each.last) for each in given_up)
        self._firsts = [first for first, _ in self._ranges]

    def __contains__(self, offset: int) -> bool:
        before = bisect_right(self._firsts, offset)
        return before > 0 and offset <= self._ranges[before - 1][1]
