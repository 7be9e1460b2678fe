"""Logs that are opened before a request is handled: those closed since the start, and new ones where they are many."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pykbroker.partitions.dormant_logs import OPENED_AT_ONCE
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.message import Message
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

MANY = 2 * OPENED_AT_ONCE + 3


def _produce(count: int) -> tuple[Message, int]:
    batch = encode_batch([Record(value=b"v")])
    data = [PartitionProduceData(index, batch) for index in range(count)]
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData("t", partition_data=data)]), 9


def _fetch(count: int) -> tuple[Message, int]:
    partitions = [FetchPartition(index, partition_max_bytes=1000) for index in range(count)]
    return FetchRequest(max_bytes=1000, session_epoch=-1, topics=[FetchTopic("t", partitions=partitions)]), 11


def _list_offsets(count: int) -> tuple[Message, int]:
    partitions = [ListOffsetsPartition(index, timestamp=-1) for index in range(count)]
    return ListOffsetsRequest(-1, topics=[ListOffsetsTopic("t", partitions)]), 4


@pytest.mark.parametrize("usual", [True, False])
@pytest.mark.parametrize("request_for", [_produce, _fetch, _list_offsets])
@pytest.mark.parametrize(("named", "in_turns"), [(OPENED_AT_ONCE, 0), (MANY, 3), (1000, 84)])
def test_many_new_logs_are_created_some_in_each_turn(
    usual: bool, request_for: Callable[[int], tuple[Message, int]], named: int, in_turns: int
) -> None:
    """Few are created with the request, in its turn. A thousand are of a large request, which is decoded in slices."""
    world = MemoryCluster(dispatcher=Dispatcher(usual=usual))
    world.topic("t", named)
    threads = world.hold_threads(reads=True)
    answer = world.post(*request_for(named))
    turns = 0
    while True:
        for _ in range(200):
            world.cluster.runtime.wake_queue.run()
        opened = sum(partition.opened_log is not None for partition in world.cluster.store.table.by_id.values())
        if not threads.held:
            break
        assert opened == turns * OPENED_AT_ONCE
        threads.run_one()
        turns += 1
    assert (turns, opened) == (in_turns, named)
    assert answer.done
    assert not world.cluster.store.dormant.new


def test_a_request_that_names_a_log_more_than_once_creates_it_alone() -> None:
    world = MemoryCluster()
    world.topic("t", 2)
    request, version = _list_offsets(2)
    request.topics[0].partitions *= 20  # type: ignore[attr-defined]
    assert world.post(request, version).done


def test_a_log_that_cannot_be_created_holds_up_no_other() -> None:
    world = MemoryCluster()
    world.topic("t", MANY)
    with world.full_disk():
        answer = world.post(*_produce(MANY))
        world.settle()
        codes = {each.error_code for each in world.finished(answer).responses[0].partition_responses}
    assert codes == {56}  # KAFKA_STORAGE_ERROR
