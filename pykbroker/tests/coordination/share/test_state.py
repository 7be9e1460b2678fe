"""Batches put over batches: for each offset the most deliveries count, and neighbours that are alike are one."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.coordination.share.state import SharePartitionKey, StateBatch, combine
from pykbroker.tests.kit.depth import examples

BATCH = st.builds(
    lambda first, size, state, deliveries: StateBatch(first, first + size, state, deliveries),
    st.integers(0, 40),
    st.integers(0, 12),
    st.sampled_from((0, 2, 3, 4)),
    st.integers(0, 3),
)


def by_offset(batches: list[StateBatch], start: int) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for batch in batches:
        for offset in range(max(batch.first, start), batch.last + 1):
            found[offset] = max(found.get(offset, (-1, -1)), (batch.deliveries, batch.state))
    return found


@settings(max_examples=examples(300), deadline=None)
@given(rounds=st.lists(st.lists(BATCH, max_size=5), max_size=5), start=st.integers(-1, 20))
def test_each_offset_has_its_most_deliveries(rounds: list[list[StateBatch]], start: int) -> None:
    known: tuple[StateBatch, ...] = ()
    for number, new in enumerate(rounds):
        known = combine(known, new, -1 if number < len(rounds) - 1 else start)
    everything = [batch for new in rounds for batch in new]
    assert by_offset(list(known), start) == by_offset(everything, start)
    for before, after in pairwise(known):
        assert before.last < after.first
    if len(rounds) == 1:
        assert all(
            before.last + 1 < after.first or (before.state, before.deliveries) != (after.state, after.deliveries)
            for before, after in pairwise(known)
        )


def test_the_key_is_that_of_kafka() -> None:
    assert str(SharePartitionKey("g", bytes(15) + b"\1", 7)) == "g:AAAAAAAAAAAAAAAAAAAAAQ:7"
