"""Prints the longest turns of the event loop when much work becomes due at once: ``python -m scripts.longest_turns``.

Each case runs in a broker of its own on a real disk. Printed are the longest turn in milliseconds while the work was
done, as ``runtime/turns.py`` measures it, and the duration of the whole work; with ``--whole`` nothing is sliced. Garbage is
collected as in a broker's process, which here is the client's, too. No test uses the numbers, which depend on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvloop

from pykbroker.brokers.cluster import Cluster
from pykbroker.brokers.lifecycle import BrokerLifecycle
from pykbroker.config.broker import BrokerConfig
from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.groups.classic.requests import join
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.coordination.transactions.transaction import TransactionState
from pykbroker.metadata.image import Endpoint
from pykbroker.metadata.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from pykbroker.network.server import Server
from pykbroker.network.sockets import Bind
from pykbroker.process import garbage
from pykbroker.runtime.clock import SystemClock
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.security.context import RequestContext
from pykbroker.storage.real_disk import RealDisk
from pykbroker.tests.kit.large_requests import GROUPS, LARGE, MANY, ROWS, TOPICS, WIDE
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

#: A consumer protocol subscription, version 0, to the topic "t".
SUBSCRIBED = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"

_CONTEXT = RequestContext(8, 8, 1, "longest-turns", "127.0.0.1", "PLAINTEXT", "User:ANONYMOUS")


class Bench:
    """A running broker, and the gauge of its loop."""

    def __init__(self, directory: Path, *, whole: bool) -> None:
        self._directory = directory
        self._whole = whole

    async def start(self, **settings: str) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        config = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", **named})
        self.server = Server(asyncio.get_running_loop(), 100)
        port = self.port = await self.server.listen(
            1, Bind("PLAINTEXT", "127.0.0.1", 0), config["socket.request.max.bytes"]
        )
        self.cluster = Cluster.open(config, self._directory, RealDisk(durable=False), SystemClock(), random.Random(1))
        if self._whole:
            self.cluster.runtime.slices.weight_of_a_turn = float("inf")
        BrokerLifecycle(self.cluster).start_all({1: [Endpoint("PLAINTEXT", "127.0.0.1", port)]})
        self.broker = self.cluster.brokers[1]
        self.server.take_up(self.cluster)
        await self.server.start_serving()
        await self.ended(self.cluster.auto_creation.create([CONSUMER_OFFSETS, TRANSACTION_STATE]))
        garbage.is_ready()

    async def stop(self) -> None:
        await self.server.close()
        self.cluster.shutdown()

    async def measure(self, what: str, begin: Callable[[], object], done: Callable[[], bool]) -> None:
        await asyncio.sleep(0.05)
        self.cluster.runtime.turns.measure()
        self.cluster.runtime.turns.restart()
        began = time.perf_counter()
        self.cluster.runtime.timers.after(0, lambda: begin() and None)
        await asyncio.sleep(0)
        for _ in iter(done, True):
            await asyncio.sleep(0.005)
        took = time.perf_counter() - began
        await asyncio.sleep(0.01)  # the turn that did the work ends
        self.tell(what, self.cluster.runtime.turns.restart(), took)

    @staticmethod
    def tell(what: str, longest: float, took: float) -> None:
        """Print a row: the longest turn and the whole, in seconds."""
        sys.stdout.write(f"{what:<62} {longest * 1000:8.1f} ms of {took * 1000:8.0f} ms\n")
        sys.stdout.flush()

    async def request(self, what: str, request: Message, version: int, done: Callable[[], bool] = lambda: True) -> None:
        """Measure a request from a socket, until it is answered."""
        frame = bytearray()
        encode_request_header(frame, RequestHeader(request.API_KEY, version, 1, "longest-turns"))
        request.encode(frame, version)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 30)
        answered = False

        async def receive() -> None:
            nonlocal answered
            await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            answered = True

        receiving = asyncio.create_task(receive())

        def send() -> None:
            writer.write(len(frame).to_bytes(4, "big") + frame)

        await self.measure(what, send, lambda: answered and done())
        await receiving
        writer.close()

    async def topic(self, name: str, partitions: int) -> bytes:
        await self.ended(self.cluster.controller.create_topics([NewTopic(name, partitions, 1)]))
        return self.cluster.metadata.image.topics[name].id

    async def ended(self, wait: Deferred[Any]) -> None:
        for _ in iter(lambda: wait.done, True):
            await asyncio.sleep(0.001)

    async def commit(self, group: str, topic: str, partitions: int) -> None:
        asked = [OffsetCommitRequestPartition(index, 7) for index in range(partitions)]
        topics = [
            OffsetCommitRequestTopic(topic, topic_id=self.cluster.metadata.image.topics[topic].id, partitions=asked)
        ]
        request = OffsetCommitRequest(group, topics=topics)
        while True:
            try:
                self.broker.groups.ask(group, GroupShard.commit, _CONTEXT, request)
            except KafkaError:
                await asyncio.sleep(0.01)
            else:
                break
        await asyncio.sleep(0)

    async def late_transactions(self, count: int, timeout_ms: int) -> None:
        await self.identities(count, timeout_ms)
        for name, identity in self.names.items():
            self.broker.transactions.add_partitions(name, *identity, [("t", 0)], client_version=1)

    async def identities(self, count: int, timeout_ms: int, named: str = "tx-{}-of-a-crowd") -> None:
        self.names = {}
        for number in range(count):
            name = named.format(number)
            while True:
                try:
                    made = as_wait(self.broker.transactions.init_producer_id(name, timeout_ms, None))
                    break
                except KafkaError:
                    await asyncio.sleep(0.01)
            self.names[name] = made.value

    def states(self) -> list[TransactionState]:
        shards = self.broker.transactions.shards.loaded.values()
        return [each.state for loaded in shards for each in loaded.shard.transactions.values()]


async def transactions_time_out(bench: Bench) -> None:
    await bench.start(transaction_abort_timed_out_transaction_cleanup_interval_ms="8000")
    await bench.topic("t", 1)
    await bench.late_transactions(5000, 3000)
    await bench.measure(
        "5,000 transactions time out", lambda: None, lambda: TransactionState.ONGOING not in bench.states()
    )


async def transactional_ids_expire(bench: Bench) -> None:
    await bench.start(
        transactional_id_expiration_ms="1000",
        transaction_remove_expired_transaction_cleanup_interval_ms="15000",
        transaction_state_log_num_partitions="1",
    )
    await bench.identities(41_656, 60_000)
    await bench.measure("41,656 transactional ids of one partition expire", lambda: None, lambda: not bench.states())


async def wide_topic(bench: Bench) -> None:
    await bench.start()
    await bench.measure(
        "a topic of 2,000 partitions is created",
        lambda: bench.cluster.controller.create_topics([NewTopic("w", 2000, 1)]),
        lambda: bool(bench.cluster.partition("w", 0)),
    )
    for number in range(100):
        await bench.commit(f"group-{number}", "w", 2000)
    topic_id = bench.cluster.metadata.image.topics["w"].id
    await bench.measure(
        "it is deleted, and 100 groups have read it",
        lambda: bench.cluster.controller.delete_topics([topic_id]),
        lambda: bench.cluster.partition("w", 0) is None and not len(bench.cluster.runtime.slices),
    )
    others = await bench.topic("x", 2000)
    for index in range(2000):
        _ = bench.cluster.partition("x", index).log  # type: ignore[union-attr]
    await bench.measure(
        "a topic of 2,000 partitions, their logs open, is deleted",
        lambda: bench.cluster.controller.delete_topics([others]),
        lambda: bench.cluster.partition("x", 0) is None and not len(bench.cluster.runtime.slices),
    )


async def fetch_session(bench: Bench) -> None:
    """Of 10,000 partitions, all logs open and empty. Collections of garbage count, which ``process/garbage.py`` shortens elsewhere."""
    await bench.start()
    await bench.topic("w", 5000)
    await bench.topic("x", 5000)
    for name in ("w", "x"):
        for index in range(5000):
            _ = bench.cluster.partition(name, index).log  # type: ignore[union-attr]
    partitions = [FetchPartition(index) for index in range(5000)]
    topics = [FetchTopic(name, partitions=partitions) for name in ("w", "x")]
    await bench.request(
        "a fetch session of 10,000 partitions is opened",
        FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, session_epoch=0, topics=topics),
        11,
    )


async def offsets_expire(bench: Bench) -> None:
    await bench.start(
        offsets_topic_num_partitions="1", offsets_retention_minutes="1", offsets_retention_check_interval_ms="70000"
    )
    await bench.topic("t", 12)
    for number in range(3000):
        await bench.commit(f"group-{number}", "t", 12)
    shard = bench.broker.groups.shards.loaded[0].shard
    await bench.measure("36,000 offsets of 3,000 groups expire", lambda: None, lambda: not shard.groups)


async def sessions_time_out(bench: Bench) -> None:
    await bench.start(group_min_session_timeout_ms="1000", group_initial_rebalance_delay_ms="0")
    for number in range(2000):
        request = JoinGroupRequest(
            f"group-{number}",
            6000,
            6000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol("range", SUBSCRIBED)],
        )
        while True:
            try:
                context = RequestContext(11, 3, 1, "c", "h", "PLAINTEXT", "u")
                bench.broker.groups.ask(request.group_id, join, context, request)
            except KafkaError:
                await asyncio.sleep(0.01)
            else:
                break
    await asyncio.sleep(0.5)

    def empty() -> bool:
        shards = bench.broker.groups.shards.loaded.values()
        return all(group.is_empty for loaded in shards for group in loaded.shard.groups.values())

    await bench.measure("2,000 members of as many groups time out", lambda: None, empty)


async def deleted_topics_of_others(bench: Bench) -> None:
    """Groups have offsets of a topic, and many others are deleted."""
    await bench.start()
    await bench.topic("t", 1)
    for number in range(5000):
        await bench.commit(f"group-{number}", "t", 1)
    new = [NewTopic(f"other-{number}", 1, 1) for number in range(500)]
    await bench.ended(bench.cluster.controller.create_topics(new))
    topics = bench.cluster.metadata.image.topics
    request = DeleteTopicsRequest(topic_names=[topic.name for topic in new])
    await bench.request(
        "500 topics are deleted, and 5,000 groups read another", request, 5, lambda: "other-499" not in topics
    )


async def many_items(bench: Bench) -> None:
    """Requests that name many things."""
    await bench.start(max_request_partition_size_limit="2000")
    new = [NewTopic(f"topic-{number}", 1, 1) for number in range(3000)]
    for begin in range(0, len(new), 500):
        await bench.ended(bench.cluster.controller.create_topics(new[begin : begin + 500]))
    names = [topic.name for topic in new]
    many = [f"group-{number}" for number in range(100_000)]
    await bench.request(
        "DescribeConfigs of 3,000 topics",
        DescribeConfigsRequest([DescribeConfigsResource(2, name, None) for name in names]),
        4,
    )
    await bench.request(
        "DescribeTopicPartitions of 2,000 topics",
        DescribeTopicPartitionsRequest([TopicRequest(name) for name in names[:2000]], 2000),
        0,
    )
    await bench.request("DescribeGroups of 100,000 groups", DescribeGroupsRequest(many), 5)
    await bench.request("FindCoordinator of 100,000 groups", FindCoordinatorRequest(coordinator_keys=many), 4)
    await bench.request("Metadata of 100,000 topics", MetadataRequest([MetadataRequestTopic(name=n) for n in many]), 9)
    partitions = [OffsetCommitRequestPartition(0, 7) for _ in range(100_000)]
    commit = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("topic-0", partitions=partitions)])
    await bench.request("OffsetCommit of 100,000 partitions", commit, 8)
    for number in range(10_000):
        await bench.commit(f"group-{number}", "topic-0", 1)
    await bench.request("ListGroups of 10,000 groups", ListGroupsRequest(), 4)


async def every_api(bench: Bench) -> None:
    """The requests of ``pykbroker/tests/kit/large_requests.py``, in its cluster."""
    await bench.start(auto_create_topics_enable="false")
    await bench.topic("wide", WIDE)
    for number in range(TOPICS):
        await bench.topic(f"topic-{number}", 1)
    for number in range(GROUPS):
        await bench.commit(f"group-{number}", f"topic-{number % TOPICS}", 1)
    await bench.identities(GROUPS, 60_000, "id-{}")
    for key in LARGE:
        await bench.request(f"{key.name} of {MANY:,}", *table_row(key))


def table_row(key: ApiKey) -> tuple[Message, int]:
    """The request of an API in the table, and its version."""
    row = ROWS[key]
    assert not isinstance(row, str), f"{key.name} names few things"
    return row()


CASES: list[Callable[[Bench], Awaitable[None]]] = [
    transactions_time_out,
    transactional_ids_expire,
    wide_topic,
    fetch_session,
    offsets_expire,
    sessions_time_out,
    deleted_topics_of_others,
    many_items,
    every_api,
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true", help="slice nothing")
    parser.add_argument("case", nargs="*", help=", ".join(case.__name__ for case in CASES))
    args = parser.parse_args()
    for case in CASES:
        if args.case and case.__name__ not in args.case:
            continue
        with tempfile.TemporaryDirectory() as directory:
            uvloop.run(_run(case, Path(directory), args.whole))


async def _run(case: Callable[[Bench], Awaitable[None]], directory: Path, whole: bool) -> None:
    bench = Bench(directory, whole=whole)
    try:
        await case(bench)
    finally:
        await bench.stop()


if __name__ == "__main__":
    main()
