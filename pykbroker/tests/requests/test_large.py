"""Large requests: decoded in slices, one after the other, and refused where they name too many things."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.handlers.contract import LARGE, CloseConnection
from pykbroker.requests import large
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import MemoryCluster, Peer
from pykbroker.tests.kit.groups import SUBSCRIBED_TO_T
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.metadata import MetadataRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch


class HeldPeer(Peer):
    def __init__(self) -> None:
        super().__init__()
        self.held: list[Deferred[Any]] = []

    def hold(self, until: Deferred[Any]) -> None:
        self.held.append(until)


def described(count: int) -> DescribeGroupsRequest:
    return DescribeGroupsRequest([f"group-{number}" for number in range(count)])


def turns_until(world: MemoryCluster, answer: Deferred[Any]) -> int:
    for turn in range(10_000):
        if answer.done:
            return turn
        world.run_turn()
    raise AssertionError("it is not answered")


def test_a_large_request_takes_many_turns_and_its_connection_waits() -> None:
    world = MemoryCluster()
    world.coordinator("g")
    peer = HeldPeer()
    answer = world.post(described(20_000), 5, peer=peer)
    assert [each.done for each in peer.held] == [False]
    assert turns_until(world, answer) > 40
    assert peer.held[0].done
    assert [group.group_id for group in answer.value.groups] == described(20_000).groups


def test_one_that_waits_for_others_no_longer_holds_its_connection() -> None:
    """As a small one: a member's heartbeat is answered while its JoinGroup waits."""
    world = MemoryCluster(group_initial_rebalance_delay_ms="3000")
    world.coordinator("g")
    peer = HeldPeer()
    protocols = [JoinGroupRequestProtocol("range", SUBSCRIBED_TO_T + bytes(LARGE))]
    answer = world.post(JoinGroupRequest("g", 6000, 6000, protocol_type="consumer", protocols=protocols), 3, peer=peer)
    world.settle()
    assert not answer.done
    assert all(each.done for each in peer.held)
    world.advance(3000)
    assert answer.value.error_code == 0


@pytest.mark.deep
def test_few_are_worked_on_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "MOST_BYTES", 400_000)
    world = MemoryCluster()
    world.coordinator("g")
    answers = [world.post(described(20_000), 5) for _ in range(3)]
    turns = [turns_until(world, answer) for answer in answers]
    assert min(turns) > 20, "all were worked on together"
    assert all(len(answer.value.groups) == 20_000 for answer in answers)


def test_fewer_are_worked_on_together_where_memory_is_short() -> None:
    world = MemoryCluster()
    world.coordinator("g")
    world.cluster.runtime.memory.limit = large.MEMORY_OF_A_BYTE * 400_000
    answers = [world.post(described(20_000), 5) for _ in range(3)]
    turns = [turns_until(world, answer) for answer in answers]
    assert min(turns) > 20, "all were worked on together"


def test_one_that_names_too_many_things_closes_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "MOST_ELEMENTS", 10_000)
    world = MemoryCluster()
    answer = world.post(described(10_001), 5)
    turns_until(world, answer)
    with pytest.raises(CloseConnection, match="more than 10000 things"):
        _ = answer.value
    assert world.ask(MetadataRequest(topics=None), 9).topics == []


def test_malformed_bytes_are_found_later_too() -> None:
    world = MemoryCluster()
    request = described(20_000)
    request.groups[-1] = "x" * 100
    frame = bytearray()
    encode_request_header(frame, RequestHeader(15, 5, 1, "client"))
    request.encode(frame, 5)
    answer = world.dispatcher.answer(world.cluster.brokers[1], Peer(), memoryview(frame)[:-50])
    turns_until(world, answer)
    with pytest.raises(CloseConnection, match="malformed"):
        _ = answer.value


def test_a_frame_that_is_large_because_of_its_records_is_handled_at_once() -> None:
    world = MemoryCluster()
    world.topic("t")
    batch = encode_batch([Record(0, 1, None, bytes(100_000), [])], base_offset=0)
    data = TopicProduceData("t", partition_data=[PartitionProduceData(0, batch)])
    assert world.post(ProduceRequest(None, 1, 1000, [data]), 9).done
    assert world.read() == [bytes(100_000)]


def test_what_begins_to_wait_when_its_client_has_gone_does_not_wait() -> None:
    """A stranger's wait may be weeks."""
    world = MemoryCluster()
    world.topic("t", 900)
    partitions = [FetchPartition(index, partition_max_bytes=1_000_000) for index in range(900)]
    request = FetchRequest(
        max_wait_ms=1_000_000_000,
        min_bytes=1_000_000,
        max_bytes=1_000_000,
        topics=[FetchTopic("t", partitions=partitions)],
    )
    frame = bytearray()
    encode_request_header(frame, RequestHeader(1, 12, 1, "client"))
    request.encode(frame, 12)
    answer = world.dispatcher.answer(world.cluster.brokers[1], Peer(), memoryview(frame))
    answer.abandon()
    for _ in range(100):
        world.run_turn()
    assert not answer.done
    assert not [index for index in range(900) if world.partition("t", index).watchers]
