"""A share partition by examples: what Apache Kafka's does, rule by rule."""

from __future__ import annotations

import math

import pytest

from pykbroker.coordination.share.state import StateBatch
from pykbroker.share_partitions.acquiring import AcquireRequest
from pykbroker.share_partitions.share_partition import SharePartition
from pykbroker.share_partitions.states import Acknowledge, Acknowledged, Acquired, GivenUp, Limits
from pykbroker.wire.errors import ErrorCode, KafkaError

AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVING, ARCHIVED = range(5)


class World:
    """A share partition over a log of batches of ten records."""

    def __init__(self, start: int = 0, state: tuple[StateBatch, ...] = (), **limits: int | bool) -> None:
        self.limits = Limits(**limits)
        self.share = SharePartition(lambda: self.limits, start, state)
        self.now = 0.0

    def acquire(self, member: str = "m", most: int = 500, batches: int = 1, **options) -> list[Acquired]:
        offset = self.share.next_fetch_offset
        first = offset // 10 * 10
        read = [(first + 10 * n, first + 10 * n + 9) for n in range(batches)]
        return self.share.acquire(
            AcquireRequest(member, offset, read, most, options.pop("size", 500), **options), self.now
        )

    def acknowledge(self, first: int, last: int, *types: int, member: str = "m") -> list[StateBatch]:
        change = self.share.acknowledge(member, [Acknowledged(first, last, list(types))], self.now)
        self.share.complete(change, persisted=True)
        return change.batches

    def states(self) -> list[tuple[int, int, int, int]]:
        return [(run.first, run.last, int(run.state), run.count) for run in self.share.in_flight]


def refused(world: World, *args, **options) -> ErrorCode:
    with pytest.raises(KafkaError) as error:
        world.acknowledge(*args, **options)
    return error.value.code


def test_what_is_accepted_moves_the_start() -> None:
    world = World()
    assert world.acquire() == [Acquired(0, 9, 1)]
    assert world.acknowledge(0, 9, Acknowledge.ACCEPT) == [StateBatch(0, 9, ACKNOWLEDGED, 1)]
    assert (world.share.start_offset, world.share.end_offset, len(world.share.in_flight)) == (10, 10, 0)


def test_a_batch_is_one_run_as_long_as_its_records_are_alike() -> None:
    world = World()
    world.acquire()
    world.acknowledge(3, 5, Acknowledge.RELEASE)
    assert world.states() == [(0, 2, ACQUIRED, 1), (3, 5, AVAILABLE, 1), (6, 9, ACQUIRED, 1)]
    world.acknowledge(0, 2, Acknowledge.RELEASE)
    assert world.states() == [(0, 5, AVAILABLE, 1), (6, 9, ACQUIRED, 1)]
    world.acknowledge(6, 9, Acknowledge.RELEASE)
    assert world.states() == [(0, 9, AVAILABLE, 1)]


def test_each_record_may_be_acknowledged_otherwise() -> None:
    world = World()
    world.acquire()
    world.acknowledge(0, 4, 1, 0, 2, 3, 1)
    assert world.states() == [
        (2, 2, AVAILABLE, 1),
        (3, 3, ARCHIVED, 1),
        (4, 4, ACKNOWLEDGED, 1),
        (5, 9, ACQUIRED, 1),
    ]
    assert world.share.start_offset == 2
    assert world.share.delivery_complete_count == 2


def test_a_record_is_given_up_at_the_delivery_limit() -> None:
    world = World(max_deliveries=2)
    for _ in range(2):
        assert world.acquire()
        world.acknowledge(0, 9, Acknowledge.RELEASE)
    assert world.share.start_offset == 10


def test_a_lock_that_is_over_counts_as_a_delivery() -> None:
    world = World(max_deliveries=2, lock_duration_ms=1000)
    world.acquire()
    assert world.share.wake_at == 1
    assert world.share.expire(0.9) is None
    change = world.share.expire(1.0)
    assert change is not None
    assert change.batches == [StateBatch(0, 9, AVAILABLE, 1)]
    world.now = 1
    assert world.acquire(member="other") == [Acquired(0, 9, 2)]
    change = world.share.expire(2.0)
    assert change is not None
    assert change.batches == [StateBatch(0, 9, ARCHIVED, 2)]
    assert (world.share.start_offset, world.share.wake_at) == (10, math.inf)


def test_a_renewed_lock_lasts_longer() -> None:
    world = World(lock_duration_ms=1000)
    world.acquire()
    world.now = 0.5
    assert world.acknowledge(2, 3, Acknowledge.RENEW) == []
    change = world.share.expire(1.0)
    assert change is not None
    assert [batch[:2] for batch in change.batches] == [(0, 1), (4, 9)]
    assert world.share.wake_at == 1.5


def test_a_renewal_before_an_error_leaves_no_cut() -> None:
    """The last record is another member's: that the first was renewed at the same moment changes nothing."""
    world = World()
    world.acquire(most=9, strict=True)
    world.acquire("other")
    types = [Acknowledge.RENEW, Acknowledge.ACCEPT]
    assert refused(world, 8, 9, *types) is ErrorCode.INVALID_RECORD_STATE
    assert [(run.first, run.last) for run in world.share.in_flight] == [(0, 8), (9, 9)]


def test_a_closed_session_releases() -> None:
    world = World(max_deliveries=2)
    world.acquire()
    change = world.share.release("m")
    assert change.batches == [StateBatch(0, 9, AVAILABLE, 1)]
    world.share.complete(change, persisted=True)
    assert world.acquire() == [Acquired(0, 9, 2)]
    assert world.share.release("m").batches == [StateBatch(0, 9, ARCHIVED, 2)]


def test_while_a_change_is_persisted_its_records_cannot_be_changed() -> None:
    world = World()
    world.acquire()
    change = world.share.acknowledge("m", [Acknowledged(0, 4, [Acknowledge.RELEASE])], 0)
    assert world.share.next_fetch_offset == 10
    assert refused(world, 3, 6, Acknowledge.ACCEPT) is ErrorCode.INVALID_RECORD_STATE
    world.share.complete(change, persisted=False)
    world.acknowledge(0, 9, Acknowledge.ACCEPT)


def test_a_change_that_is_lost_after_the_lock_is_over_releases() -> None:
    world = World(lock_duration_ms=1000)
    world.acquire()
    change = world.share.acknowledge("m", [Acknowledged(0, 9, [Acknowledge.ACCEPT])], 0)
    assert world.share.expire(5) is None
    world.share.complete(change, persisted=False)
    assert world.share.wake_at <= 5
    expired = world.share.expire(5)
    assert expired is not None
    assert expired.batches == [StateBatch(0, 9, AVAILABLE, 1)]
    assert world.states() == [(0, 9, AVAILABLE, 1)]


def test_who_may_acknowledge_what() -> None:
    world = World()
    assert refused(world, 0, 9, 1) is ErrorCode.INVALID_RECORD_STATE
    world.acquire()
    assert refused(world, 0, 9, 1, member="other") is ErrorCode.INVALID_RECORD_STATE
    assert refused(world, 5, 12, 1) is ErrorCode.INVALID_REQUEST
    assert refused(world, 10, 12, 1) is ErrorCode.INVALID_REQUEST
    assert refused(world, 0, 9, 5) is ErrorCode.INVALID_REQUEST
    world.acknowledge(0, 9, 1)
    world.acknowledge(0, 9, 1)  # done with: nothing to say


def test_a_strict_member_gets_no_more_than_it_wants() -> None:
    world = World()
    assert world.acquire(most=4, strict=True) == [Acquired(0, 3, 1)]
    assert world.acquire(member="other", most=4) == [Acquired(4, 9, 1)]
    assert world.acquire(most=4) == [Acquired(10, 19, 1)]


def test_new_records_are_batched_as_the_member_wants() -> None:
    world = World()
    assert world.acquire(batches=5, size=20) == [Acquired(0, 19, 1), Acquired(20, 39, 1), Acquired(40, 49, 1)]


def test_no_more_records_are_in_flight_than_the_limit() -> None:
    world = World(max_in_flight=15)
    assert world.acquire(batches=5) == [Acquired(0, 19, 1)]
    assert not world.share.can_acquire
    world.acknowledge(12, 13, Acknowledge.RELEASE)
    assert world.share.can_acquire
    assert world.acquire(batches=5) == [Acquired(12, 13, 2)]


def test_records_that_fail_often_are_delivered_in_smaller_batches_and_alone_at_last() -> None:
    world = World(max_deliveries=4)
    sizes = []
    for _ in range(3):
        for acquired in world.acquire():
            sizes.append(acquired.last - acquired.first + 1)
            world.acknowledge(acquired.first, acquired.last, Acknowledge.RELEASE)
    assert sizes == [10, 10, 5]
    world.acquire()
    assert max(run.count for run in world.share.in_flight) == 3 or world.states()[0][3] == 4
    world = World(max_deliveries=3, state=(StateBatch(0, 9, AVAILABLE, 2),))
    assert world.acquire() == [Acquired(0, 0, 3)]
    assert world.acquire() == [Acquired(1, 1, 3)]


def test_what_was_acquired_at_a_restart_is_available_again() -> None:
    world = World(state=(StateBatch(4, 5, ACKNOWLEDGED, 1), StateBatch(8, 9, AVAILABLE, 3)))
    assert world.states() == [
        (0, 3, AVAILABLE, 0),
        (4, 5, ACKNOWLEDGED, 1),
        (6, 7, AVAILABLE, 0),
        (8, 9, AVAILABLE, 3),
    ]
    assert (world.share.next_fetch_offset, world.share.end_offset) == (0, 10)


def test_rejected_records_wait_for_their_dead_letters() -> None:
    world = World(dead_letters=True)
    world.acquire()
    change = world.share.acknowledge("m", [Acknowledged(0, 1, [Acknowledge.REJECT])], 0)
    assert world.share.complete(change, persisted=True) == [GivenUp(0, 1, 1, rejected=True)]
    assert (world.share.start_offset, world.share.archiving()) == (0, [GivenUp(0, 1, 1, rejected=True)])
    reopened = SharePartition(lambda: world.limits, 0, [StateBatch(0, 1, ARCHIVING, 1), StateBatch(2, 3, ARCHIVING, 5)])
    assert reopened.archiving() == [GivenUp(0, 1, 1, rejected=True), GivenUp(2, 3, 5, rejected=False)]
    assert world.share.archive(world.share.archiving()).batches == [StateBatch(0, 1, ARCHIVED, 1)]
    assert world.share.start_offset == 2


def test_what_retention_removes_is_forgotten() -> None:
    world = World()
    world.acquire(batches=3)
    change = world.share.acknowledge("m", [Acknowledged(10, 19, [Acknowledge.ACCEPT])], 0)
    world.share.log_start_moved(15)
    assert (world.share.start_offset, world.states()[0][:2]) == (15, (15, 19))
    world.share.complete(change, persisted=True)
    assert world.share.start_offset == 20
    world.share.log_start_moved(100)
    assert (world.share.start_offset, world.share.next_fetch_offset) == (100, 100)
    world.acknowledge(20, 29, Acknowledge.ACCEPT)


def test_records_of_aborted_transactions_are_archived_and_not_delivered() -> None:
    world = World()
    assert world.acquire(batches=3, aborted=[(0, 9), (15, 16)]) == [Acquired(10, 14, 1), Acquired(17, 29, 1)]
    assert world.share.start_offset == 10


def test_what_compaction_removed_meanwhile_is_passed() -> None:
    world = World()
    world.acquire(batches=2)
    world.acknowledge(0, 19, Acknowledge.RELEASE)
    request = AcquireRequest("m", 0, [(20, 29)], 500, 500)
    assert world.share.acquire(request, 0) == [Acquired(20, 29, 1)]
    assert world.share.start_offset == 20


def test_records_that_are_alike_are_joined_where_the_log_start_has_cut_a_change() -> None:
    world = World()
    for _ in range(3):
        world.acquire()
    world.acknowledge(6, 9, Acknowledge.RELEASE)
    change = world.share.release("m")
    world.share.log_start_moved(3)
    world.share.complete(change, persisted=True)
    assert world.states()[0] == (3, 9, AVAILABLE, 1)
