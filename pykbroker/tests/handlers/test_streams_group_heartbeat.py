"""StreamsGroupHeartbeat: the topics that an application misses, and why they are not created; what is refused as a whole."""

from __future__ import annotations

import pytest

from pykbroker.coordination.groups.streams.configuring import StreamsStatus
from pykbroker.security.acl import ALLOW, Acl
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.security.operations import CREATE, DESCRIBE, READ
from pykbroker.security.resources import GROUP, LITERAL, TOPIC
from pykbroker.tests.kit.cluster import Peer
from pykbroker.tests.kit.streams_groups import (
    CHANGELOG,
    INPUT,
    REPARTITION,
    STREAMS_GROUP,
    StreamsCluster,
    StreamsThread,
)
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TopicInfo,
    Topology,
)

MISSING = StreamsStatus.MISSING_INTERNAL_TOPICS


def impossible(count: int) -> Topology:
    """Changelogs with more replicas than there are brokers."""
    logs = [TopicInfo(f"log-{number}", replication_factor=5) for number in range(count)]
    return Topology(0, [Subtopology("0", [INPUT], state_changelog_topics=logs)])


def test_topics_that_are_missing_are_named_until_they_are_there() -> None:
    world = StreamsCluster()
    thread = StreamsThread(world, "a")
    (status,) = thread.beat().status
    assert status.status_code == MISSING
    assert {CHANGELOG, REPARTITION} <= set(status.status_detail.replace(",", " ").replace(".", " ").split())
    world.settle()
    assert {CHANGELOG, REPARTITION} <= world.image.topics.keys()
    assert not thread.beat().status


@pytest.mark.parametrize("may_create", [False, True])
def test_who_may_not_create_them_is_told_and_none_is_created(may_create: bool) -> None:
    world = StreamsCluster(**{"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"})
    rights = [(GROUP, STREAMS_GROUP, READ), (TOPIC, INPUT, DESCRIBE), (TOPIC, REPARTITION, DESCRIBE)]
    rights += [(TOPIC, CHANGELOG, DESCRIBE), (TOPIC, CHANGELOG, CREATE)]
    rights += [(TOPIC, REPARTITION, CREATE)] if may_create else []
    acls = [Acl(kind, name, LITERAL, "User:alice", "*", operation, ALLOW) for kind, name, operation in rights]
    assert world.controller.create_acls(acls).value == [None] * len(acls)
    thread = StreamsThread(world, "a")
    request = StreamsGroupHeartbeatRequest(STREAMS_GROUP, "a", 0, **thread.reported(), **thread.joining())
    coordinator = world.coordinator(STREAMS_GROUP)
    answer = world.ask(request, 1, broker=coordinator, peer=Peer(principal="User:alice"))
    (status,) = answer.status
    assert status.status_code == MISSING
    denied = status.status_detail.endswith(f"; Unauthorized to CREATE on topics {REPARTITION}.")
    assert denied is not may_create, status
    world.settle()
    assert ({CHANGELOG, REPARTITION} <= world.image.topics.keys()) is may_create
    assert (CHANGELOG in world.image.topics) is may_create, "none is created where one may not be"


def test_why_they_could_not_be_created_is_told_for_two_heartbeats() -> None:
    world = StreamsCluster(**{"group.streams.heartbeat.interval.ms": "5000"})
    thread = StreamsThread(world, "a")
    first = thread.beat(topology=impossible(5))
    assert "failed" not in first.status[0].status_detail
    world.settle()
    (status,) = thread.beat().status
    head, told = status.status_detail.split("; Creation failed: ")
    assert status.status_code == MISSING
    assert head == first.status[0].status_detail
    assert told.count("replication factor") == 3
    assert told.endswith(" and 2 more."), told
    world.advance(10_000)
    (status,) = thread.beat().status
    assert "failed" not in status.status_detail, "it was tried again, and nothing is known yet"


def test_what_is_refused_as_a_whole_has_a_message() -> None:
    thread = StreamsThread(StreamsCluster(), "a")
    refused = thread.ask(member_epoch=0)
    assert (refused.error_code, refused.member_epoch) == (ErrorCode.INVALID_REQUEST, 0)
    assert refused.error_message
    unknown = thread.ask(member_epoch=3)
    assert unknown.error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("protocols", ["classic,consumer", "classic,consumer,streams"])
def test_it_is_served_where_the_protocol_is_on(protocols: str) -> None:
    world = StreamsCluster(**{"group.coordinator.rebalance.protocols": protocols})
    expected = ErrorCode.NONE if "streams" in protocols else ErrorCode.UNSUPPORTED_VERSION
    assert StreamsThread(world, "a").beat().error_code == expected
