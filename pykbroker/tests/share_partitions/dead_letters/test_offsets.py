from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pykbroker.share_partitions.dead_letters.offsets import GivenUpOffsets
from pykbroker.share_partitions.states import GivenUp


@given(st.sets(st.integers(0, 60)))
def test_it_has_what_the_ranges_have(offsets: set[int]) -> None:
    pairs = [
        GivenUp(each, each + (each + 1 in offsets), 1, rejected=False) for each in offsets if each - 1 not in offsets
    ]
    wanted = {offset for each in pairs for offset in range(each.first, each.last + 1)}
    found = GivenUpOffsets(reversed(pairs))
    assert {offset for offset in range(-1, 63) if offset in found} == wanted


def test_many_ranges_are_asked_for_in_few_comparisons() -> None:
    """One record in two is given up, and each letter of the topic is looked for."""

    class Counted(int):
        compared = 0

        def __lt__(self, other: int) -> bool:
            Counted.compared += 1
            return int(self) < int(other)

    found = GivenUpOffsets([GivenUp(each, each, 1, rejected=False) for each in range(0, 20_000, 2)])
    assert Counted(9_998) in found
    assert Counted(9_999) not in found
    assert 0 < Counted.compared < 40
