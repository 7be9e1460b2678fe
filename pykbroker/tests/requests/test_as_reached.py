"""Clients are told the address by which they came, and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.requests.as_reached import AsReached, host_for
from pykbroker.requests.pipeline import Place
from pykbroker.tests.kit.cluster import LISTENER, MemoryCluster, Peer
from pykbroker.wire.message import Message
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.metadata import MetadataRequest

GATEWAY = "172.17.0.1"
NEIGHBOUR = Peer(host="172.17.0.3", local_host="172.17.0.2")
OF_THE_HOST = Peer(host=GATEWAY, local_host="172.17.0.2")
INSIDE = Peer(host="127.0.0.1", local_host="127.0.0.1")


def world(brokers: int = 1, *, listener: str = LISTENER) -> MemoryCluster:
    made = MemoryCluster(brokers=brokers)
    made.dispatcher.places.fill(Place.ADVERTISE, AsReached([listener], lambda: {GATEWAY}, several=brokers > 1).guard)
    return made


@pytest.mark.parametrize(
    ("client", "told"),
    [
        (NEIGHBOUR, "172.17.0.2"),
        (INSIDE, "127.0.0.1"),
        (OF_THE_HOST, "localhost"),
        (Peer(host="::ffff:172.17.0.3", local_host="::ffff:172.17.0.2"), "172.17.0.2"),
        (Peer(host=f"::ffff:{GATEWAY}", local_host="::ffff:172.17.0.2"), "localhost"),
        (Peer(host="fd00::3", local_host="fd00::2"), "fd00::2"),
        (Peer(host="fe80::3", local_host="fe80::2"), None),
        (Peer(host="10.0.2.100", local_host="10.0.2.100"), "localhost"),  # a forwarder of rootless Podman
        (Peer(host="::ffff:10.89.0.2", local_host="::ffff:10.89.0.2"), "localhost"),
        (Peer(host="fd00::2", local_host="fd00::2"), "localhost"),
        (Peer(host="::1", local_host="::1"), "::1"),
        (Peer(host="", local_host=""), None),
    ],
)
def test_what_a_client_is_told(client: Peer, told: str | None) -> None:
    assert host_for(client, {GATEWAY}) == told


def addresses(answer: Any) -> list[tuple[str, int]]:
    named = getattr(answer, "brokers", None) or getattr(answer, "coordinators", None) or [answer]
    return [(each.host, each.port) for each in named]


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (MetadataRequest(topics=None), 12),
        (DescribeClusterRequest(), 2),
        (FindCoordinatorRequest(coordinator_keys=["g"]), 6),
        (FindCoordinatorRequest(key="g"), 3),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Message) else f"v{value}",
)
def test_every_answer_that_names_a_broker_says_it(request_: Message, version: int) -> None:
    ours = world()
    for client, told in ((NEIGHBOUR, "172.17.0.2"), (OF_THE_HOST, "localhost"), (INSIDE, "127.0.0.1")):
        assert addresses(ours.ask(request_, version, peer=client)) == [(told, 9001)]


def test_answers_that_are_kept_for_others_stay_as_they_were() -> None:
    ours, asked = world(), MetadataRequest(topics=None)
    ours.topic("t")
    told = [addresses(ours.ask(asked, 12, peer=client)) for client in (NEIGHBOUR, OF_THE_HOST, NEIGHBOUR)]
    assert told == [[("172.17.0.2", 9001)], [("localhost", 9001)], [("172.17.0.2", 9001)]]
    assert [broker.endpoints[LISTENER].host for broker in ours.image.brokers.values()] == ["host1"]


def test_a_listener_that_it_does_not_hold_for_says_what_it_advertises() -> None:
    assert addresses(world(listener="OTHER").ask(MetadataRequest(topics=None), 12, peer=NEIGHBOUR)) == [("host1", 9001)]


def test_a_coordinator_that_is_not_there_has_no_address() -> None:
    (answer,) = world().ask(FindCoordinatorRequest(coordinator_keys=["g"], key_type=2), 6, peer=NEIGHBOUR).coordinators
    assert (answer.error_code != 0, answer.host, answer.port) == (True, "", -1)


def test_who_fetches_from_a_broker_that_does_not_lead_is_told_of_the_leader() -> None:
    ours = world(brokers=2)
    topic_id = ours.topic("t", partitions=1)
    other = 3 - ours.image.topics["t"].partitions[0].leader
    topic = FetchTopic(topic_id=topic_id, partitions=[FetchPartition(partition=0, partition_max_bytes=1)])
    fetch = FetchRequest(replica_id=-1, max_wait_ms=0, max_bytes=1, topics=[topic])
    (leader,) = ours.ask(fetch, 17, broker=other, peer=NEIGHBOUR).node_endpoints
    assert (leader.node_id, leader.host, leader.port) == (3 - other, "172.17.0.2", 9003 - other)


def test_who_sends_and_fetches_takes_no_step_more_where_the_broker_is_alone() -> None:
    def handle(*_: Any) -> None:
        return None

    alone = AsReached([LISTENER], frozenset)
    assert [alone.guard(key, handle) is handle for key in (0, 1)] == [True, True]
