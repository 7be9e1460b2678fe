"""The share partitions of a broker: opened on first use, ended with the last session of the group."""

from __future__ import annotations

from pykbroker.controller.feature_updates import FeatureUpdate, UpgradeType
from pykbroker.share_partitions.states import Acknowledge, RecordState
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster, ShareMember
from pykbroker.wire.errors import ErrorCode


def started(partitions: int = 2) -> tuple[ShareCluster, ShareMember]:
    world = ShareCluster(partitions=partitions)
    world.joined()
    for index in range(partitions):
        world.produce(3, index)
    return world, ShareMember(world, partitions=partitions)


def test_they_are_opened_when_a_member_reads() -> None:
    world, member = started()
    assert world.broker.started_share_partitions is None
    assert len(member.acquired()) == 2
    assert world.broker.share_partitions.groups() == [SHARE_GROUP]
    assert sorted(led.key.partition for led in world.broker.share_partitions.led_of(SHARE_GROUP)) == [0, 1]


def test_the_last_session_that_ends_releases_and_closes_all() -> None:
    world, member = started()
    other = ShareMember(world, "other", partitions=2)
    assert len(member.acquired()) == 2
    assert other.acquired() == []
    member.close()
    world.settle()
    assert len(world.broker.share_partitions.led_of(SHARE_GROUP)) == 2
    assert [count for _, _, count in other.acquired()] == [2, 2]
    other.close()
    world.settle()
    assert world.broker.share_partitions.groups() == []
    assert [count for _, _, count in ShareMember(world, "third", partitions=2).acquired()] == [3, 3]


def test_acknowledgements_are_counted_by_type() -> None:
    world, member = started(1)
    member.acquired()
    member.acknowledge(0, 2, Acknowledge.ACCEPT, Acknowledge.RELEASE, Acknowledge.ACCEPT)
    assert world.broker.share_partitions.acknowledgements == {Acknowledge.ACCEPT: 2, Acknowledge.RELEASE: 1}


def test_a_broker_that_stops_ends_them() -> None:
    world, member = started(1)
    member.acquired()
    shared = world.broker.share_partitions
    (led,) = shared.led_of(SHARE_GROUP)
    shared.close()
    assert led.has_ended
    assert shared.groups() == []


def test_below_the_levels_of_share_groups_all_is_forgotten_and_nothing_counts() -> None:
    world, member = started(1)
    assert member.acquired() == [(0, 2, 1)]
    waiting = member.post_fetch(max_wait_ms=5000)
    to_level(world, 0)
    assert waiting.value.responses == []
    assert member.fetch().error_code == ErrorCode.UNSUPPORTED_VERSION
    shared = world.broker.share_partitions
    assert (len(shared.sessions), shared.groups()) == (0, [])
    to_level(world, 2)
    assert member.fetch().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert ShareMember(world).acquired() == [(0, 2, 1)]


def to_level(world: ShareCluster, level: int) -> None:
    update = FeatureUpdate("share.version", level, UpgradeType.UPGRADE if level else UpgradeType.UNSAFE_DOWNGRADE)
    world.finished(world.controller.update_features([update], static_min_isr=1, validate_only=False))
    world.settle()


def test_a_process_that_ends_releases_nothing() -> None:
    """It would count as a delivery; what was only acquired is forgotten with the process."""
    world, member = started(1)
    member.acquired()
    world.broker.share_partitions.begin_stop()
    member.peer.lose()
    world.settle()
    (led,) = world.broker.share_partitions.led_of(SHARE_GROUP)
    assert led.share is not None
    assert [run.state for run in led.share.in_flight] == [RecordState.ACQUIRED]
    world.restart()
    assert ShareMember(world, "other").acquired() == [(0, 2, 1)]
