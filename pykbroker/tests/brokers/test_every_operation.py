"""A broker's life, ended or hindered at each of its operations on the disk in turn: what it acknowledged is there.

Topics come, go, and come again; records are produced, offsets committed; the rounds of housekeeping flush, write checkpoints,
drop segments, remove files, and compact ``__consumer_offsets``; the metadata gets a snapshot; the broker stops cleanly and
starts again, over two log directories. The process dies, or loses power, or finds the disk full or failing, at the first,
the second, ... operation. After the next start, clients see what they saw after the last step that was acknowledged, or
what they would have seen after the one under way.
"""

from __future__ import annotations

import copy
import errno
import itertools
import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pykbroker.storage.compaction.cleaning import clean
from pykbroker.storage.directories.manager import LogManager
from pykbroker.tests.kit.cluster import GROUP, MemoryCluster
from pykbroker.tests.kit.metadata import snapshot
from pykbroker.tests.storage.rounds import checkpoint_round, flush_round, retention_round
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch
from pykbroker.worlds.disk import ProcessDied

SETTINGS = {
    "log_flush_interval_messages": "1",  # so that a power loss takes nothing that was acknowledged
    "log_segment_delete_delay_ms": "1000",
    "log_cleaner_min_cleanable_ratio": "0.01",
    "offsets_topic_num_partitions": "1",
}

#: Does something; whether it was acknowledged.
Step = Callable[[MemoryCluster], bool]


def create(topic: str) -> Step:
    return lambda world: not world.ask(CreateTopicsRequest([CreatableTopic(topic, 1, 1)], 1000), 7).topics[0].error_code


def delete(topic: str) -> Step:
    return lambda world: not world.ask(DeleteTopicsRequest([DeleteTopicState(topic)]), 6).responses[0].error_code


def alter(topic: str, **configs: str) -> Step:
    changes = [AlterableConfig(name.replace("_", "."), 0, value) for name, value in configs.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(2, topic, changes)])
    return lambda world: not world.ask(request, 1).responses[0].error_code


def produce(topic: str, value: bytes) -> Step:
    def step(world: MemoryCluster) -> bool:
        batch = encode_batch([Record(timestamp=world.clock.now_ms(), value=value)])
        request = ProduceRequest(
            None, -1, 1000, [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
        )
        return not world.ask(request, 9).responses[0].partition_responses[0].error_code

    return step


def trim(topic: str, offset: int) -> Step:
    """DeleteRecords, and the checkpoint that says where the log starts: before that a kill brings the records back, as in Kafka."""
    topics = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, offset)])]

    def step(world: MemoryCluster) -> bool:
        answer = world.ask(DeleteRecordsRequest(topics, 1000), 2)
        return not answer.topics[0].partitions[0].error_code and attempt(partial(checkpoint_round, world.cluster.logs))

    return step


def commit(offset: int) -> Step:
    topics = [OffsetCommitRequestTopic("orders", partitions=[OffsetCommitRequestPartition(0, offset)])]

    def step(world: MemoryCluster) -> bool:
        world.coordinator(GROUP)
        answer = world.ask(OffsetCommitRequest(GROUP, topics=topics), 8)
        return not answer.topics[0].partitions[0].error_code

    return step


def attempt(action: Callable[[], Any]) -> bool:
    try:
        action()
    except (KafkaError, OSError):
        return False
    return True


def keep_house(world: MemoryCluster) -> bool:
    """All rounds, as the timers call them; what is due for removal goes."""
    logs = world.cluster.logs
    world.clock.advance(2000)
    rounds: tuple[Callable[[LogManager], None], ...] = (
        flush_round,
        partial(retention_round, now_ms=world.clock.now_ms()),
        checkpoint_round,
    )
    done = [attempt(partial(each, logs)) for each in rounds]
    return all(done)


def compact(world: MemoryCluster) -> bool:
    """Close the segment of the committed offsets and compact what is closed."""
    logs = world.cluster.logs
    offsets = world.cluster.partition("__consumer_offsets", 0)
    assert offsets is not None
    if not attempt(lambda: offsets.log.roll(world.clock.now_ms())):
        return False
    plan = logs.compactions.plan(world.clock.now_ms())
    if plan is None:
        return True
    try:
        result: Any = clean(plan.job, world.disk)
    except OSError as error:
        result = error
    return attempt(lambda: logs.compactions.finish(plan, result)) and not isinstance(result, OSError)


def take_snapshot(world: MemoryCluster) -> bool:
    controller = world.cluster.local_controller
    return attempt(lambda: snapshot(controller.log, controller.image))


def stop_and_start(world: MemoryCluster) -> bool:
    attempt(world.cluster.shutdown)
    while not attempt(world.start):
        pass
    return True


STEPS: list[Step] = [
    create("orders"),
    produce("orders", b"first"),
    commit(1),
    create("doomed"),
    produce("doomed", b"old"),
    produce("doomed", b"older"),
    trim("doomed", 2),
    commit(2),
    keep_house,
    commit(3),
    compact,
    delete("doomed"),
    create("doomed"),
    produce("doomed", b"new"),
    alter("orders", retention_ms="77000000", segment_bytes="1048576"),
    take_snapshot,
    keep_house,
    commit(4),
    stop_and_start,
    produce("orders", b"second"),
    compact,
    commit(5),
    keep_house,
]


def seen(world: MemoryCluster) -> dict[str, Any]:
    """What clients can see."""
    image = world.cluster.metadata.image
    topics = {name: topic.id for name, topic in image.topics.items() if not name.startswith("__")}
    return {
        "topics": topics,
        "configs": {name: dict(image.topic_config(name)) for name in topics},
        "records": {name: world.read(name) for name in topics},
        "committed": world.committed(),
    }


def born() -> MemoryCluster:
    return MemoryCluster(others=[Path("/more")], **SETTINGS)


def reference() -> tuple[list[dict[str, Any]], int]:
    """What is seen after each number of steps, and how many operations they are."""
    world = born()
    before = world.disk.operations
    # ``seen`` would make files: the states are those of lives that ended there.
    for step in STEPS:
        assert step(world)
    operations = world.disk.operations - before
    states = []
    for count in range(len(STEPS) + 1):
        world = born()
        for step in STEPS[:count]:
            step(world)
        states.append(seen(world))
    return states, operations


STATES, OPERATIONS = reference()


def test_the_life_does_everything() -> None:
    world = born()
    names: list[str] = []
    world.disk.fail = lambda _, name: names.append(name)
    assert all(step(world) for step in STEPS)
    for pattern in (
        r"write \S+/__consumer_offsets-0/0{20}.log.cleaned",
        r"rename \S+/__consumer_offsets-0/0{20}.log.swap",
        r"rename \S+/doomed-0 \S+/doomed-0\.[0-9a-f]{32}-delete",
        r"remove tree \S+/doomed-0\.[0-9a-f]{32}-delete",
        r"rename \S+\.checkpoint\.tmp",
        r"rename \S+/cleaner-offset-checkpoint\.tmp",
        r"write /data/.kafka_cleanshutdown",
        r"write /more/.kafka_cleanshutdown",
        r"rename \S+/quorum-state\.tmp",
    ):
        assert any(re.match(pattern, name) for name in names), pattern
    assert STATES[-1]["records"] == {"orders": [b"first", b"second"], "doomed": [b"new"]}
    assert STATES[-1]["committed"] == {("orders", 0): 5}


def live(world: MemoryCluster) -> int:
    """Do the steps until one is not acknowledged, or the process dies; how many were."""
    for count, step in enumerate(STEPS):
        try:
            if not step(world):
                return count
        except ProcessDied:
            return count
    return len(STEPS)


def check(world: MemoryCluster, acknowledged: int) -> None:
    """Start again, twice: clients see the one state or the other, and appends go on."""
    allowed = STATES[acknowledged : acknowledged + 2]
    for _ in range(2):
        world.start()
        found = seen(world)
        assert found in allowed
        allowed = [found]
    if "orders" in found["topics"]:
        assert produce("orders", b"next")(world)
        assert world.read("orders") == [*found["records"]["orders"], b"next"]


@pytest.mark.parametrize("end", ["killed", "power lost"])
@pytest.mark.parametrize("number", range(1, OPERATIONS + 1))
def test_ended_at(number: int, end: str) -> None:
    world = born()
    last = world.disk.operations + number
    world.disk.fail = lambda at, _: ProcessDied() if at >= last else None
    acknowledged = live(world)
    assert acknowledged < len(STEPS)
    world.disk.fail = None
    if end == "power lost":
        world.disk.crash(random.Random(number))
    check(world, acknowledged)


@pytest.mark.parametrize("number", range(1, OPERATIONS + 1))
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_refused_at(number: int, code: int) -> None:
    """The disk refuses one operation. The step is not acknowledged, or did not need it."""
    world = born()
    refused = world.disk.operations + number
    world.disk.fail = lambda at, _: OSError(code, "refused") if at == refused else None
    acknowledged = live(world)
    world.disk.fail = None
    check(world, acknowledged)


@pytest.mark.deep(but=1)
@pytest.mark.parametrize("number", range(1, OPERATIONS + 1, 31))
def test_ended_again_while_it_starts(number: int) -> None:
    """The power goes, and goes again at each operation of the start that follows."""
    world = born()
    last = world.disk.operations + number
    world.disk.fail = lambda at, _: ProcessDied() if at >= last else None
    acknowledged = live(world)
    world.disk.fail = None
    world.disk.crash(random.Random(number))
    left = copy.deepcopy(world.disk)
    for again in itertools.count(1):
        world.disk = copy.deepcopy(left)
        end = world.disk.operations + again
        world.disk.fail = lambda at, _, end=end: ProcessDied() if at >= end else None
        try:
            world.start()
            seen(world)
            break
        except ProcessDied:
            world.disk.fail = None
            world.disk.crash(random.Random(again))
            check(world, acknowledged)
    assert again > 5
