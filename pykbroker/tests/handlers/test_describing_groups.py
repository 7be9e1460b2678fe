"""What the descriptions of three kinds of groups have beside the groups themselves, and who may see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pykbroker.access.step import authorise
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.requests.pipeline import Place, through
from pykbroker.security.acl import ALLOW, Acl
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.security.operations import DELETE, DESCRIBE, READ
from pykbroker.security.resources import GROUP, LITERAL, TOPIC
from pykbroker.tests.kit.streams_groups import (
    CHANGELOG,
    INPUT,
    REPARTITION,
    STREAMS_GROUP,
    StreamsCluster,
    StreamsThread,
    settle,
)
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pykbroker.wire.messages.share_group_describe import ShareGroupDescribeRequest
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pykbroker.wire.messages.streams_group_describe import StreamsGroupDescribeRequest

NOT_ASKED = -(2**31)
KINDS = {"c": ConsumerGroupDescribeRequest, "s": ShareGroupDescribeRequest, STREAMS_GROUP: StreamsGroupDescribeRequest}


class Groups(StreamsCluster):
    """A group of each kind with a member, asked by ``who``."""

    def __init__(self, **settings: Any) -> None:
        self.who = "User:admin"

        def as_who(_broker: Any, ctx: Any, _request: Any, proceed: Callable[[], Any]) -> Any:
            ctx.principal = self.who
            return proceed()

        dispatcher: Any = Dispatcher(filled={Place.OBSERVE: through(as_who), Place.AUTHORISE: authorise})
        super().__init__(dispatcher=dispatcher, **settings)
        settle(StreamsThread(self, "a"))
        names = {"rebalance_timeout_ms": 1000, "subscribed_topic_names": [INPUT], "topic_partitions": []}
        self.ask(ConsumerGroupHeartbeatRequest("c", "m", 0, **names), 1, broker=self.coordinator("c"))
        self.ask(
            ShareGroupHeartbeatRequest("s", "m", 0, subscribed_topic_names=[INPUT]), 1, broker=self.coordinator("s")
        )

    def described(self, group: str = STREAMS_GROUP, **more: Any) -> Any:
        (found,) = self.ask(KINDS[group]([group], **more), 1, broker=self.coordinator(group)).groups
        return found


@pytest.mark.parametrize("group", KINDS)
def test_operations_are_there_if_asked_for(group: str) -> None:
    world = Groups()
    assert world.described(group).authorized_operations == NOT_ASKED
    found = world.described(group, include_authorized_operations=True)
    assert (found.error_code, len(found.members)) == (0, 1)
    assert found.authorized_operations >= 1 << READ | 1 << DELETE | 1 << DESCRIBE


@pytest.mark.parametrize("group", KINDS)
def test_a_group_that_is_refused_has_none(group: str) -> None:
    world = Groups()
    other = next(each for each in KINDS if each != group)
    for name in ("missing", other):
        request = KINDS[group]([name], include_authorized_operations=True)
        (found,) = world.ask(request, 1, broker=world.coordinator(name)).groups
        assert (found.error_code, found.authorized_operations) == (ErrorCode.GROUP_ID_NOT_FOUND, NOT_ASKED)


def test_no_description_of_a_topology_is_stored() -> None:
    world = Groups()
    assert world.described().topology_description_status == 0
    assert world.described(include_topology_description=True).topology_description_status == 1


@pytest.mark.parametrize("hidden", [None, INPUT, REPARTITION, CHANGELOG])
def test_a_topology_is_seen_by_who_may_describe_all_its_topics(hidden: str | None) -> None:
    world = Groups(**{"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"})
    rights = [(GROUP, STREAMS_GROUP), *((TOPIC, each) for each in (INPUT, REPARTITION, CHANGELOG) if each != hidden)]
    acls = [Acl(kind, name, LITERAL, "User:alice", "*", DESCRIBE, ALLOW) for kind, name in rights]
    assert world.controller.create_acls(acls).value == [None] * len(acls)
    world.who = "User:alice"
    found = world.described()
    assert (found.error_code, len(found.members)) == (
        (0, 1) if hidden is None else (ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0)
    )
