"""Streams groups: a topology whose topics may be seen or created, and descriptions."""

from __future__ import annotations

from compat_tests.authorization.cases import case
from compat_tests.authorization.signing import SignedAsk
from compat_tests.oracle.cases.consumer_groups import configure
from compat_tests.oracle.cases.streams_groups import enters, reads
from pykbroker.security.operations import CREATE, DESCRIBE, READ
from pykbroker.security.resources import GROUP, TOPIC
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from pykbroker.wire.messages.streams_group_heartbeat import Subtopology, TopicInfo, Topology
from pykbroker.wire.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    TopologyDescription,
)


def _assigns_at_once(ask: SignedAsk, group: str) -> str:
    configure(ask, group, "streams.initial.rebalance.delay.ms", "0")
    return group


@case(
    ApiKey.STREAMS_GROUP_HEARTBEAT, (GROUP, "g", READ), (TOPIC, "t", DESCRIBE), (TOPIC, "c", DESCRIBE), (TOPIC, "c", CREATE)
)  # fmt: skip
def an_application_enters(ask: SignedAsk) -> None:
    topic, group = ask.topic("t"), _assigns_at_once(ask, ask.name("g"))
    changelog = TopicInfo(ask.name("c"))
    ask(enters(group, "member", reads("__consumer_offsets")))
    ask(enters(group, "member", reads("a b", topic)))
    ask(enters(group, "member", Topology(0, [Subtopology("0", [topic], state_changelog_topics=[changelog])])))


@case(ApiKey.STREAMS_GROUP_DESCRIBE, (GROUP, "g", DESCRIBE), (TOPIC, "t", DESCRIBE))
def streams_groups_are_described(ask: SignedAsk) -> None:
    topic, group = ask.topic("t"), _assigns_at_once(ask, ask.name("g"))
    joined = ask.quietly(enters(group, "member", reads(topic)), 1)
    assert joined.error_code == 0, joined
    ask(StreamsGroupDescribeRequest([group, ask.name("none")], True))


@case(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, (GROUP, "g", READ))
def a_topology_is_described(ask: SignedAsk) -> None:
    ask(StreamsGroupTopologyDescriptionUpdateRequest(ask.name("g"), "member", 1, TopologyDescription()))
