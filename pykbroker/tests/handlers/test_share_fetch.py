"""Share groups from the heartbeat to the acknowledgement, in a cluster in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pykbroker.runtime.waits import Deferred
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.tests.kit.cluster import Peer
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster, ShareMember
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode

ACCEPT, RELEASE, REJECT, RENEW = Acknowledge.ACCEPT, Acknowledge.RELEASE, Acknowledge.REJECT, Acknowledge.RENEW


def started(**settings: str) -> tuple[ShareCluster, ShareMember]:
    world = ShareCluster(**settings)
    world.joined()
    return world, ShareMember(world)


def test_a_member_acquires_and_accepts() -> None:
    world, member = started()
    world.produce(10)
    assert member.acquired() == [(0, 9, 1)]
    assert member.acknowledge(0, 9, ACCEPT) == ErrorCode.NONE
    assert member.acquired() == []
    world.produce(5)
    assert member.acquired() == [(10, 14, 1)]
    answer = member.fetch({0: [(10, 14, [ACCEPT])]})
    assert answer.responses[0].partitions[0].acknowledge_error_code == 0


def test_a_waiting_member_is_told_of_new_records() -> None:
    world, member = started()
    assert member.acquired() == []
    waiting = member.post_fetch(max_wait_ms=10_000)
    world.settle()
    assert not waiting.done
    world.produce(3)
    world.settle()
    assert waiting.done
    assert [each.last_offset for each in waiting.value.responses[0].partitions[0].acquired_records] == [2]


def test_two_members_share_a_partition() -> None:
    world, one = started()
    other = ShareMember(world, "other")
    world.produce(10)
    world.produce(10)
    assert one.acquired(max_records=10) == [(0, 9, 1)]
    assert other.acquired() == [(10, 19, 1)]
    assert other.acknowledge(0, 9, ACCEPT) == ErrorCode.INVALID_RECORD_STATE
    assert one.acknowledge(0, 9, RELEASE) == ErrorCode.NONE
    assert other.acquired() == [(0, 9, 2)]


def test_records_of_a_lost_connection_go_to_another_member() -> None:
    world, one = started()
    other = ShareMember(world, "other")
    world.produce(10)
    assert one.acquired() == [(0, 9, 1)]
    assert other.acquired() == []
    waiting = other.post_fetch(max_wait_ms=10_000)
    one.peer.lose()
    world.settle()
    assert waiting.done
    assert [each.delivery_count for each in waiting.value.responses[0].partitions[0].acquired_records] == [2]


def test_a_lock_ends_and_a_renewed_one_does_not() -> None:
    world, one = started()
    other = ShareMember(world, "other")
    world.produce(4)
    assert one.acquired() == [(0, 3, 1)]
    world.advance(20_000)
    assert one.acknowledge(2, 3, RENEW) == ErrorCode.NONE
    world.advance(10_001)
    assert other.acquired() == [(0, 1, 2)]
    assert one.acknowledge(2, 3, ACCEPT) == ErrorCode.NONE


def test_who_waits_is_told_of_locks_that_are_over() -> None:
    world, one = started()
    other = ShareMember(world, "other")
    world.produce(4)
    assert one.acquired() == [(0, 3, 1)]
    assert other.acquired() == []
    waiting = other.post_fetch(max_wait_ms=100_000)
    world.settle()
    assert not waiting.done
    world.advance(30_001)
    world.settle()
    assert waiting.done
    assert [each.delivery_count for each in waiting.value.responses[0].partitions[0].acquired_records] == [2]


@pytest.mark.parametrize("kill", [False, True])
def test_state_is_kept_over_a_restart(kill: bool) -> None:
    world, member = started()
    world.produce(10)
    member.acquired()
    assert member.acknowledge(0, 3, ACCEPT) == ErrorCode.NONE
    assert member.acknowledge(6, 7, RELEASE) == ErrorCode.NONE
    world.restart(kill=kill)
    again = ShareMember(world)
    assert again.acquired() == [(4, 5, 1), (6, 7, 2), (8, 9, 1)]


def test_sessions_count_their_epochs() -> None:
    world, member = started()
    assert member.acknowledge(0, 0, ACCEPT) == ErrorCode.INVALID_SHARE_SESSION_EPOCH  # epoch 0
    stranger = ShareMember(world, "stranger")
    stranger.epoch = 1
    assert stranger.fetch().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    member.epoch = 0
    assert member.fetch().error_code == ErrorCode.NONE
    member.epoch = 5
    assert member.fetch().error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.close().error_code == ErrorCode.NONE
    assert member.close().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_the_last_request_releases() -> None:
    world, member = started()
    world.produce(2)
    assert member.acquired() == [(0, 1, 1)]
    member.close()
    other = ShareMember(world, "other")
    assert other.acquired() == [(0, 1, 2)]


def test_the_limit_of_deliveries() -> None:
    world, member = started()
    world.configure("share.delivery.count.limit", "2")
    world.produce(1)
    assert member.acquired() == [(0, 0, 1)]
    member.acknowledge(0, 0, RELEASE)
    assert member.acquired() == [(0, 0, 2)]
    member.acknowledge(0, 0, RELEASE)
    assert member.acquired() == []


def test_a_moved_leader_takes_over() -> None:
    world = ShareCluster(
        2,
        replicas=2,
        offsets_topic_replication_factor="2",
        share_coordinator_state_topic_replication_factor="2",
    )
    world.joined()
    leader = world.partition("t").leader
    world.asked_broker = lambda: world.partition("t").leader  # type: ignore[method-assign]
    member = ShareMember(world)
    world.produce(10)
    member.acquired()
    assert member.acknowledge(0, 4, ACCEPT) == ErrorCode.NONE
    with world.without(leader):
        assert world.partition("t").leader != leader
        again = ShareMember(world)
        assert again.acquired() == [(5, 9, 1)]


def test_records_of_aborted_transactions_are_not_delivered_to_a_group_that_reads_what_is_committed() -> None:
    world = ShareCluster()
    world.configure("share.isolation.level", "read_committed")
    world.joined()
    member = ShareMember(world)
    good, bad = Producer(world, "good").started(), Producer(world, "bad").started()
    for producer in (good, bad, good):
        assert producer.send(b"v") is ErrorCode.NONE
    assert member.acquired() == []
    assert bad.abort() is ErrorCode.NONE
    assert good.commit() is ErrorCode.NONE
    assert member.acquired() == [(0, 0, 1), (2, 4, 1)]  # with the markers, as in Kafka


def test_a_fetch_waits_for_its_least_bytes_and_acquires_nothing_meanwhile() -> None:
    world, member = started()
    assert member.acquired() == []
    world.produce(2)
    waiting = member.post_fetch(max_wait_ms=10_000, min_bytes=300)
    world.settle()
    assert not waiting.done
    assert ShareMember(world, "other").acquired() == [(0, 1, 1)]
    world.produce(2)
    world.settle()
    assert not waiting.done
    world.produce(2)
    world.produce(40)
    world.settle()
    assert acquired_in(waiting.value) == [(2, 45, 1)]


def test_a_fetch_is_answered_with_fewer_bytes_when_its_time_is_over() -> None:
    world, member = started()
    assert member.acquired() == []
    world.produce(2)
    waiting = member.post_fetch(max_wait_ms=10_000, min_bytes=300)
    world.advance(9000)
    assert not waiting.done
    world.advance(1001)
    world.settle()
    assert acquired_in(waiting.value) == [(0, 1, 1)]


def acquired_in(answer) -> list[tuple[int, int, int]]:
    parts = [part for topic in answer.responses for part in topic.partitions]
    return [
        (each.first_offset, each.last_offset, each.delivery_count) for part in parts for each in part.acquired_records
    ]


def gone_while_a_thread_reads(member: ShareMember, world: ShareCluster, meanwhile: Callable[[], None]) -> None:
    """A thread reads for a member that waits for nothing but it; it is done when ``meanwhile`` has happened."""
    held = world.hold_threads(reads=True)
    waiting = member.post_fetch(max_wait_ms=60_000)
    world.settle()
    assert not waiting.done
    assert len(held) == 1
    meanwhile()
    world.settle()
    held.let_go()
    world.settle()


def test_what_a_thread_reads_for_a_member_that_is_gone_is_for_the_others() -> None:
    world, one = started()
    world.configure("share.isolation.level", "read_committed")
    other = ShareMember(world, "other")
    assert one.acquired() == other.acquired() == []
    world.produce(10)
    gone_while_a_thread_reads(one, world, one.peer.lose)
    assert other.acquired() == [(0, 9, 1)]


def test_what_a_thread_reads_for_a_request_that_is_answered_is_not_acquired() -> None:
    """The member has begun another session over a new connection."""
    world, one = started()
    world.configure("share.isolation.level", "read_committed")
    again = ShareMember(world, one.name)
    assert one.acquired() == []
    world.produce(10)
    gone_while_a_thread_reads(one, world, again.post_fetch)
    assert ShareMember(world, "other").acquired() == [(0, 9, 1)]


def test_a_session_that_begins_when_its_connection_has_ended_is_over() -> None:
    world, one = started()
    world.produce(10)
    one.peer.lose()
    assert one.fetch(max_wait_ms=60_000).responses[0].partitions[0].acquired_records == []
    assert len(world.broker.share_partitions.sessions) == 0
    assert ShareMember(world, "other").acquired() == [(0, 9, 1)]


def test_a_fetch_ends_with_its_session() -> None:
    """One of many partitions is begun in slices: nobody abandons it, and the end of its connection is not that of the new session."""
    world = ShareCluster(partitions=600)
    world.joined()
    first, again = ShareMember(world, partitions=600), ShareMember(world)
    waiting = first.post_fetch(max_wait_ms=100_000_000)
    for _ in range(100):
        world.run_turn()
    assert not waiting.done
    assert again.fetch().error_code == ErrorCode.NONE
    for _ in range(100):
        world.run_turn()
    assert waiting.done
    assert not any(led.waiting for led in world.broker.share_partitions.led_of(SHARE_GROUP))


def left_open(world: ShareCluster) -> int:
    """Share partitions that are open a while after their members have gone."""
    for _ in range(5):
        world.settle()
        world.advance(1000)
    return len(world.broker.share_partitions.led_of(SHARE_GROUP))


@pytest.mark.parametrize("turns", [0, 1, 3, 5])
def test_a_fetch_of_many_partitions_opens_none_when_its_member_has_gone(turns: int) -> None:
    """It would stay open, with what it knows, until another member had come and gone."""
    world = ShareCluster(partitions=600)
    world.joined()
    member = ShareMember(world, partitions=600)
    member.post_fetch(max_wait_ms=100_000, min_bytes=100)
    for _ in range(turns):
        world.run_turn()
    member.peer.lose()
    assert left_open(world) == 0


class KeepsAnswers(ShareCluster):
    """Has the newest answer, which may be abandoned as a connection that is lost does it."""

    answer: Deferred[Any]

    def _hand_in(self, frame: bytearray, broker: int, peer: Peer) -> Deferred[Any]:
        self.answer = super()._hand_in(frame, broker, peer)
        return self.answer


def test_who_is_gone_while_many_partitions_are_looked_at_waits_for_none() -> None:
    """Its connection is lost between two turns; the session ends later."""
    world = KeepsAnswers(partitions=600)
    world.joined()
    member = ShareMember(world, partitions=600)
    member.fetch()
    member.post_fetch(max_wait_ms=5000)
    led = world.broker.share_partitions.led_of(SHARE_GROUP)
    assert 0 < sum(len(each.waiting) for each in led) < 600
    world.answer.abandon()
    world.settle()
    assert [each.key for each in led if each.waiting] == []


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_broker_that_does_not_lead_names_the_leader_and_takes_no_acknowledgements(replicas: int) -> None:
    world = ShareCluster(2, replicas=replicas, own_stores=True)
    placed = world.cluster.brokers[1].placed("t", 0)
    assert placed is not None
    leader = placed.leader
    world.asked_broker = lambda: 3 - leader  # type: ignore[method-assign]
    member = ShareMember(world)
    answer = member.fetch()
    fetched = answer.responses[0].partitions[0]
    assert fetched.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetched.current_leader.leader_id == leader == answer.node_endpoints[0].node_id
    assert member.acknowledge(0, 4, ACCEPT) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
