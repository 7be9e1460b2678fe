"""The end of a partition at a leader in another process: broker 1 of a cluster, which is asked over the messages."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.brokers.remote_offsets import latest_offset
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.share_groups import ShareCluster
from pykbroker.wire.errors import ErrorCode, KafkaError


class Peers:
    """The way to the leader."""

    def __init__(self, world: ShareCluster) -> None:
        self._world = world

    def ask(self, node_id: int, request: Any, version: int) -> Deferred[Any]:
        return self._world.post(request, version, broker=node_id)


def test_the_end_is_the_leaders_high_watermark() -> None:
    world = ShareCluster()
    assert latest_offset(Peers(world), 1, "t", 0).value == 0
    world.produce(10)
    assert latest_offset(Peers(world), 1, "t", 0).value == 10


def test_what_the_leader_refuses_is_an_error() -> None:
    with pytest.raises(KafkaError) as refused:
        _ = latest_offset(Peers(ShareCluster()), 1, "t", 1).value
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
