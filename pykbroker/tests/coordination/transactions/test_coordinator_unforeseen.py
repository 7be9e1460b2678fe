"""One transaction with which nothing can be done, for a reason that nobody foresaw: all others go on, and their readers."""

from __future__ import annotations

import pytest

from pykbroker.coordination.outcome import Outcome
from pykbroker.coordination.transactions import ending
from pykbroker.coordination.transactions.shard import TransactionShard
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode

NAMES = ("a", "b", "c")
MINUTE, DAY = 60_000, 86_400_000


@pytest.fixture
def world() -> MemoryCluster:
    world = MemoryCluster(transaction_state_log_num_partitions="3")
    world.topic()
    return world


def test_what_is_late_and_cannot_be_aborted_keeps_no_other_open(world, monkeypatch, caplog) -> None:
    for name in NAMES:
        assert Producer(world, name, timeout_ms=MINUTE).started().send(name.encode()) is ErrorCode.NONE
    abort = ending.abort_ongoing

    def fail(transaction, *args):
        if transaction.transactional_id == "b":
            raise RuntimeError("unforeseen")
        return abort(transaction, *args)

    with monkeypatch.context() as patched:
        patched.setattr(ending, "abort_ongoing", fail)
        world.advance(2 * MINUTE)
        world.settle()
    assert [world.state(name) for name in NAMES] == ["CompleteAbort", "Ongoing", "CompleteAbort"]
    assert "unforeseen" in caplog.text
    world.advance(2 * MINUTE)
    world.settle()
    assert world.state("b") == "CompleteAbort"


def test_a_shard_of_which_nothing_can_expire_keeps_no_other(world, monkeypatch) -> None:
    for name in NAMES:
        Producer(world, name).started()
    shards = world.broker.transactions.shards.loaded.values()
    first = next(loaded.shard for loaded in shards if loaded.shard.transactions)
    expired = TransactionShard.expired

    def fail(shard, *args):
        if shard is first:
            raise RuntimeError("unforeseen")
        return expired(shard, *args)

    monkeypatch.setattr(TransactionShard, "expired", fail)
    world.advance(8 * DAY)
    world.settle()
    left = {name for loaded in shards for name in loaded.shard.transactions}
    assert left == set(first.transactions)
    assert 0 < len(left) < len(NAMES)


def test_what_cannot_be_gone_on_with_after_a_start_keeps_no_other(world, monkeypatch, caplog) -> None:
    begun = []

    def begin(_shard: TransactionShard, key: str) -> Outcome:
        begun.append(key)
        if key == "a":
            raise RuntimeError("unforeseen")
        return Outcome()

    monkeypatch.setattr(TransactionShard, "loaded", lambda _: NAMES)
    monkeypatch.setattr(TransactionShard, "begin", begin)
    Producer(world, "x").init()
    world.settle()
    assert begun[:3] == list(NAMES)
    assert "unforeseen" in caplog.text
