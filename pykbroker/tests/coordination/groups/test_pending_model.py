"""Commits inside and outside of transactions, and what ends them: every sequence of a few events, against a model.

The model is the log itself, read naively: an offset counts from where it stands, or, committed in a transaction, from
its marker on, unless something later has taken its place by then.
"""

from __future__ import annotations

from itertools import product

import pytest

from pykbroker.coordination.groups.records import offset_record, offset_tombstone
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.tests.coordination.groups.harness import Harness
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.internal.offset_commit import OffsetCommitValue
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup

PRODUCERS = (1, 2)
EVENTS = [
    "commit",
    "tombstone",
    *((what, producer) for producer in PRODUCERS for what in ("commit in", "commits", "aborts")),
]
LENGTH = 4


class Model:
    """Positions in the log are offsets, too: each commit commits its own position."""

    def __init__(self) -> None:
        self.position = 0
        self.committed: int | None = None
        self.pending: dict[int, int] = {}

    def apply(self, event) -> None:
        self.position += 1
        match event:
            case "commit":
                self.committed = self.position
            case "tombstone":
                self.committed = None
                self.pending.clear()
            case ("commit in", producer):
                self.pending[producer] = self.position
            case ("aborts", producer):
                self.pending.pop(producer, None)
            case ("commits", producer):
                position = self.pending.pop(producer, -1)
                if position > (self.committed or -1):
                    self.committed = position


def apply(shard: GroupShard, event, position: int) -> None:
    match event:
        case "commit":
            shard.replay(offset_record(GROUP, "t", 0, OffsetCommitValue(position)))
        case "tombstone":
            shard.replay(offset_tombstone(GROUP, "t", 0))
        case ("commit in", producer):
            shard.replay(offset_record(GROUP, "t", 0, OffsetCommitValue(position))._replace(producer_id=producer))
        case (what, producer):
            shard.end_transaction(producer, commit=what == "commits")


def fetched(shard: GroupShard, *, stable: bool) -> int | ErrorCode | None:
    """The offset, an error, or None where there is none."""
    request = OffsetFetchRequestGroup(group_id=GROUP, topics=None)
    for topic in (shard.fetch_stable if stable else shard.fetch)(request).topics:
        for partition in topic.partitions:
            code = ErrorCode(partition.error_code)
            return partition.committed_offset if code is ErrorCode.NONE else code
    return None


@pytest.mark.parametrize("first", EVENTS, ids=str)
def test_every_sequence(first):
    for rest in product(EVENTS, repeat=LENGTH - 1):
        model, shard = Model(), Harness().shard
        for event in (first, *rest):
            model.apply(event)
            apply(shard, event, model.position)
        assert fetched(shard, stable=False) == model.committed, (first, *rest)
        unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT if model.pending and model.committed else model.committed
        assert fetched(shard, stable=True) == unstable, (first, *rest)
        assert dict(pending(shard)) == model.pending, (first, *rest)
        assert list(shard.committed.pending.of_group(GROUP)) == [("t", 0)] * bool(model.pending), (first, *rest)
        assert list(shard.committed.pending.of_group("another")) == []


def pending(shard: GroupShard):
    for producer, offsets in shard.committed.pending._producers.items():
        for committed in offsets.values():
            yield producer, committed.offset


def test_what_a_transaction_is_about_to_replace_does_not_expire():
    h = Harness()
    h.commit({("t", 0): 1})
    apply(h.shard, ("commit in", 1), 2)
    h.clock.advance(h.settings.offsets_retention_ms)
    h.forget(h.shard.expire())
    assert h.committed() == {("t", 0): (1, "")}
    apply(h.shard, ("aborts", 1), 3)
    h.forget(h.shard.expire())
    assert h.committed() == {}


@pytest.mark.parametrize("commit", [True, False])
def test_offset_delete_takes_what_is_pending_too(commit: bool) -> None:
    h = Harness()
    h.commit({("t", 1): 1})
    apply(h.shard, ("commit in", 1), 2)
    assert h.delete_offset("t", 0) == ErrorCode.NONE
    assert list(pending(h.shard)) == []
    apply(h.shard, ("commits" if commit else "aborts", 1), 3)
    assert h.committed() == {("t", 1): (1, "")}
