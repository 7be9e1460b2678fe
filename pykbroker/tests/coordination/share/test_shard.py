"""The decisions about a share partition's state, on records that are replayed as the runtime does it."""

from __future__ import annotations

import pytest

from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.coordination.share.records import decode, encode
from pykbroker.coordination.share.settings import ShareCoordinatorSettings
from pykbroker.coordination.share.shard import ShareShard
from pykbroker.coordination.share.state import SharePartitionKey, ShareState, StateBatch
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.share_snapshot import ShareSnapshotKey
from pykbroker.wire.internal.share_update import ShareUpdateKey

KEY = SharePartitionKey("g", b"t" * 16, 0)
OTHER = SharePartitionKey("g", b"u" * 16, 1)


class World:
    def __init__(self, updates_per_snapshot: int = 3) -> None:
        self.settings = ShareCoordinatorSettings(updates_per_snapshot=updates_per_snapshot)
        self.shard = ShareShard(self.settings)
        self.log: list[tuple[bytes, bytes | None]] = []

    def append(self, records: list[CoordinatorRecord]) -> list[CoordinatorRecord]:
        for record in records:
            self.log.append(encode(record))
            self.shard.replay(record._replace(offset=len(self.log) - 1))
        return records

    def reload(self, begin: int = 0) -> ShareShard:
        shard = ShareShard(self.settings)
        for offset, (key, value) in enumerate(self.log[begin:], begin):
            record = decode(key, value)
            assert record is not None
            shard.replay(record._replace(offset=offset))
        return shard

    def write(self, *batches: StateBatch, start: int = 0, complete: int = 0, leader: int = 0) -> CoordinatorRecord:
        change = ShareState(leader_epoch=leader, start_offset=start, delivery_complete_count=complete, batches=batches)
        return self.append(self.shard.write(KEY, change, 5))[0]


def test_the_life_of_a_share_partition() -> None:
    world = World()
    (begun,) = world.append(world.shard.initialize(KEY, 0, -1, 1))
    assert begun.value.start_offset == begun.value.delivery_complete_count == -1
    assert world.shard.read(KEY, 0, 2)[0].start_offset == -1
    assert world.shard.read(KEY, 0, 2)[1] == []
    first = world.write(StateBatch(0, 9, 2, 1), complete=10)
    assert isinstance(first.key, ShareUpdateKey)
    world.write(StateBatch(10, 12, 0, 1), StateBatch(13, 13, 4, 2), start=10, complete=1)
    state = world.shard.states[KEY]
    assert (state.start_offset, state.delivery_complete_count) == (10, 1)
    assert state.batches == (StateBatch(10, 12, 0, 1), StateBatch(13, 13, 4, 2))
    assert world.reload().states == world.shard.states
    world.append(world.shard.delete(KEY))
    assert world.shard.states == world.reload().states == {}
    assert world.shard.delete(KEY) == []


def test_after_many_updates_a_snapshot_makes_what_is_before_redundant() -> None:
    world = World(updates_per_snapshot=2)
    world.append(world.shard.initialize(KEY, 0, 0, 1))
    kinds = [type(world.write(StateBatch(n, n, 2, 1)).key) for n in range(6)]
    assert kinds == [ShareUpdateKey, ShareUpdateKey, ShareSnapshotKey] * 2
    assert world.shard.redundant_before == 6
    assert world.shard.states[KEY].snapshot_epoch == 2
    assert world.reload(world.shard.redundant_before).states == world.shard.states
    world.append(world.shard.initialize(OTHER, 0, 0, 1))
    assert world.shard.redundant_before == 6


def test_what_is_cold_has_a_snapshot_once() -> None:
    world = World()
    world.append(world.shard.initialize(KEY, 0, 0, 1))
    assert list(world.shard.cold(world.settings.cold_snapshot_interval_ms)) == []
    late = world.settings.cold_snapshot_interval_ms + 1
    (cold,) = world.append(list(world.shard.cold(late)))
    assert (cold.value.snapshot_epoch, cold.value.create_timestamp, cold.value.write_timestamp) == (1, 1, late)
    assert list(world.shard.cold(late * 3)) == []
    assert world.shard.redundant_before == 1


def test_a_new_leader_is_noted_and_the_old_one_is_fenced() -> None:
    world = World()
    world.append(world.shard.initialize(KEY, 0, 5, 1))
    state, noted = world.shard.read(KEY, 3, 2)
    world.append(noted)
    assert (state.start_offset, noted[0].value.leader_epoch, noted[0].value.state_batches) == (5, 3, [])
    for attempt in (
        lambda: world.shard.read(KEY, 2, 2),
        lambda: world.write(leader=2),
    ):
        with pytest.raises(KafkaError) as refused:
            attempt()
        assert refused.value.code is ErrorCode.FENCED_LEADER_EPOCH
    assert world.shard.summary(KEY).leader_epoch == 3


def test_an_older_state_epoch_is_fenced() -> None:
    world = World()
    world.append(world.shard.initialize(KEY, 2, 5, 1))
    for attempt in (lambda: world.shard.initialize(KEY, 1, 0, 1), world.write):
        with pytest.raises(KafkaError) as refused:
            attempt()
        assert refused.value.code is ErrorCode.FENCED_STATE_EPOCH
    (again,) = world.append(world.shard.initialize(KEY, 3, 9, 7))
    assert (again.value.snapshot_epoch, again.value.start_offset) == (1, 9)


def test_what_was_not_initialized_is_refused() -> None:
    world = World()
    assert world.shard.summary(KEY).start_offset == -1
    for attempt in (
        lambda: world.shard.read(KEY, 0, 1),
        world.write,
        lambda: world.shard.initialize(KEY._replace(partition=-1), 0, 0, 1),
        lambda: world.shard.initialize(KEY, -1, 0, 1),
        lambda: world.shard.read(KEY, -1, 1),
    ):
        with pytest.raises(KafkaError) as refused:
            attempt()
        assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_a_late_write_does_not_move_the_start_back() -> None:
    world = World()
    world.append(world.shard.initialize(KEY, 0, 0, 1))
    world.write(start=10, complete=2)
    world.write(StateBatch(3, 3, 2, 1), start=4, complete=7)
    assert (world.shard.states[KEY].start_offset, world.shard.states[KEY].delivery_complete_count) == (10, 2)
    world.write(start=10, complete=1)
    assert world.shard.states[KEY].delivery_complete_count == 2


def test_the_states_of_deleted_topics_end() -> None:
    world = World()
    world.append(world.shard.initialize(KEY, 0, 0, 1))
    world.append(world.shard.initialize(OTHER, 0, 0, 1))
    world.append(list(world.shard.of_topics([KEY.topic_id])))
    assert list(world.shard.states) == [OTHER]
