"""Settings of share groups are followed while the group works."""

from __future__ import annotations

import pytest

from pykbroker.share_partitions.group_settings import ShareGroupSettings
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster, ShareMember
from pykbroker.wire.errors import ErrorCode


def test_limits_follow_the_settings() -> None:
    world = ShareCluster(**{"group.share.max.delivery.count.limit": "6", "group.share.delivery.count.limit": "4"})
    settings = ShareGroupSettings(world.cluster.metadata, world.broker.config, SHARE_GROUP)
    assert settings.limits().max_deliveries == 4
    for limit in (2, 6, 5):
        world.configure("share.delivery.count.limit", str(limit))
        assert settings.limits().max_deliveries == limit
    before = settings.limits()
    assert settings.limits() is before, "computed once for each change of the metadata"
    world.configure("share.record.lock.duration.ms", "45000")
    assert settings.limits().lock_duration_ms == 45_000
    assert not settings.limits().dead_letters
    world.configure("errors.deadletterqueue.topic.name", "dlq.t")
    assert settings.limits().dead_letters


@pytest.mark.parametrize("limit", [2, 4])
def test_a_limit_that_is_changed_counts_for_what_is_acquired(limit: int) -> None:
    world = ShareCluster()
    world.joined()
    world.produce(1)
    member = ShareMember(world)
    for _ in range(3):
        assert member.acquired()
        if member.epoch > 3:
            world.configure("share.delivery.count.limit", str(limit))
        assert member.acknowledge(0, 0, Acknowledge.RELEASE) == ErrorCode.NONE
        world.settle()
    assert bool(member.acquired()) == (limit > 3)
