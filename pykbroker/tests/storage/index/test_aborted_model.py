"""Interleaved transactions in a log of small segments: what readers of committed records are told, against a model.

The model is a list of what was written. For every range of offsets that may be read, the aborted transactions that touch
it must be named, and none that ended before it; what cannot matter to a reader may be named too.
"""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given, settings

from pykbroker.storage.index.aborted import AbortedRanges
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.storage.support import Store, append, append_marker, batch

PRODUCERS = (1, 2, 3)
#: What the producer does: writes a batch, aborts, or commits.
STEPS = st.lists(
    st.tuples(st.sampled_from(PRODUCERS), st.sampled_from(["write", "write", "abort", "abort", "commit"])),
    min_size=8,
    max_size=24,
)

#: Producer, first offset, offset of the marker (None while it is open), and whether it is aborted.
Txn = tuple[int, int, int | None, bool]


def written(log: Log, steps: list[tuple[int, str]]) -> list[Txn]:
    """Carry out the steps; the transactions that they make."""
    first: dict[int, int] = {}
    sequence = dict.fromkeys(PRODUCERS, 0)
    txns: list[Txn] = []
    for producer, step in steps:
        if step == "write":
            data = batch([b"x" * 300], producer=(producer, 0, sequence[producer]), transactional=True)
            offset = append(log, data).base_offset
            sequence[producer] += 1
            first.setdefault(producer, offset)
        else:
            offset = append_marker(log, producer, 0, commit=step == "commit").base_offset
            if producer in first:
                txns.append((producer, first.pop(producer), offset, step == "abort"))
    return [*txns, *((producer, offset, None, False) for producer, offset in first.items())]


def check(log: Log, txns: list[Txn]) -> None:
    open_since = [first for _, first, marker, _ in txns if marker is None]
    assert log.last_stable_offset == min(open_since, default=log.log_end_offset)
    for upper in range(log.last_stable_offset + 1):
        for start in range(upper):
            found = {txn[:3] for txn in log.aborted_transactions(start, upper)}
            touching = {
                (producer, first, marker)
                for producer, first, marker, aborted in txns
                if aborted and first < upper and marker >= start
            }
            assert found == touching, (start, upper)
    check_batches(log, txns)


def check_batches(log: Log, txns: list[Txn]) -> None:
    """Of every batch that readers may see, whether it is of an aborted transaction."""
    ranges = AbortedRanges(log.aborted_transactions(0, log.last_stable_offset))
    for header, _ in log.batches(0):
        if header.base_offset < log.last_stable_offset:
            undone = any(
                producer == header.producer_id and first <= header.base_offset < marker
                for producer, first, marker, aborted in txns
                if aborted
            )
            assert ranges.cover(header) == undone, header


@given(STEPS)
@settings(max_examples=examples(100), deadline=None)
def test_readers_are_told_what_is_aborted(steps):
    store = Store()
    config = LogConfig(segment_bytes=1000)
    log = store.log(config)
    txns = written(log, steps)
    check(log, txns)
    store.start()  # it was killed: the last segment's index is made anew
    check(store.log(config), txns)
