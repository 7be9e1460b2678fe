"""The topic of the schema registry: what it writes and reads takes many turns where it is much."""

from __future__ import annotations

import asyncio
import json

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.process.life import Lifetimes
from pykbroker.registry.errors import RegistryError
from pykbroker.registry.others import GROUP, _may_lead
from pykbroker.registry.records import SchemaKey
from pykbroker.registry.topic import TOPIC, SchemasTopic
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.turns import MOST, CountedTask
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pykbroker.wire.messages.leave_group import LeaveGroupRequest


def test_the_tombstones_of_many_versions_are_one_batch_that_is_written_in_turns() -> None:
    world = MemoryCluster()
    world.create(NewTopic(TOPIC, 1, 1))
    lifetimes = Lifetimes()
    lifetimes.begin(world.cluster)

    async def longest() -> int:
        topic = SchemasTopic(lifetimes, "BACKWARD")
        state = await topic.state()
        task = CountedTask(topic.append([(SchemaKey("a", number), None) for number in range(3000)], state))
        await task
        return task.longest

    assert asyncio.run(longest()) <= MOST // 5
    partition = world.partition(TOPIC, 0)
    assert [header.record_count for header, _ in partition.log.batches(0)] == [3000]


def test_nothing_is_written_for_a_life_that_has_ended() -> None:
    """A reset takes its logs away while a write is prepared in turns."""
    world = MemoryCluster()
    world.create(NewTopic(TOPIC, 1, 1))
    lifetimes = Lifetimes()
    lifetimes.begin(world.cluster)

    async def ended_meanwhile() -> None:
        topic = SchemasTopic(lifetimes, "BACKWARD")
        state = await topic.state()
        writing = asyncio.ensure_future(topic.append([(SchemaKey("a", each), None) for each in range(3000)], state))
        await asyncio.sleep(0)
        lifetimes.end(followed=True)
        with pytest.raises(RegistryError, match="stopping or being reset"):
            await writing

    asyncio.run(ended_meanwhile())
    assert not list(world.partition(TOPIC, 0).log.batches(0))


def test_another_registry_leads_while_it_is_in_the_group() -> None:
    world = MemoryCluster()
    world.create(NewTopic(TOPIC, 1, 1))
    lifetimes = Lifetimes()
    lifetimes.begin(world.cluster)
    topic = SchemasTopic(lifetimes, "BACKWARD")

    async def write() -> None:
        await topic.append([(SchemaKey("a", 1), None)], await topic.state())

    def joined(member_id: str, eligible: bool) -> str:
        said = json.dumps({"version": 1, "host": "sr", "port": 8081, "master_eligibility": eligible}).encode()
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=300_000,
            member_id=member_id,
            protocol_type="sr",
            protocols=[JoinGroupRequestProtocol(name="v0", metadata=said)],
        )
        joining = world.post(request, 3)
        world.advance(3000)  # of the first member
        assert isinstance(joining.value, JoinGroupResponse)
        return joining.value.member_id

    world.coordinator(GROUP)
    asyncio.run(write())
    member = joined("", eligible=False)
    asyncio.run(write())
    member = joined(member, eligible=True)
    with pytest.raises(RegistryError, match="Another schema registry leads") as caught:
        asyncio.run(write())
    assert (caught.value.status, caught.value.code) == (500, 50004)
    world.ask(LeaveGroupRequest(group_id=GROUP, member_id=member), 1)
    asyncio.run(write())
    assert sum(header.record_count for header, _ in world.partition(TOPIC, 0).log.batches(0)) == 3


def test_what_a_member_says_at_length_is_not_parsed() -> None:
    said = {"master_eligibility": False}
    assert not _may_lead(json.dumps(said).encode())
    assert _may_lead(json.dumps({**said, "host": "x" * 2**14}).encode())
