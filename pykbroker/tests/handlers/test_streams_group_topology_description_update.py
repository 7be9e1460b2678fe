"""StreamsGroupTopologyDescriptionUpdate: nobody takes descriptions, as on a broker of Kafka without a plug-in."""

from __future__ import annotations

import pytest

from pykbroker.tests.kit.streams_groups import STREAMS_GROUP, StreamsCluster, StreamsThread, settle
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    TopologyDescription,
)


def described(world: StreamsCluster, group: str, member: str):
    return world.ask(StreamsGroupTopologyDescriptionUpdateRequest(group, member, 1, TopologyDescription()), 0)


@pytest.mark.parametrize("member", ["a", "stranger", ""])
def test_it_is_refused_whoever_sends_it(member: str) -> None:
    world = StreamsCluster()
    thread = StreamsThread(world, "a")
    settle(thread)
    before = world.described()
    answer = described(world, STREAMS_GROUP, member)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert answer.error_message == "The broker has no streams group topology description plugin configured."
    assert world.described() == before, "and nothing of the group has changed"


def test_where_streams_groups_are_off_the_version_alone_is_refused() -> None:
    world = StreamsCluster(**{"group.coordinator.rebalance.protocols": "classic,consumer"})
    answer = described(world, STREAMS_GROUP, "a")
    assert (answer.error_code, answer.error_message) == (ErrorCode.UNSUPPORTED_VERSION, None)
