"""How long one client waits while another sends what is much work: pykbroker beside Apache Kafka, in a table of its own.

The one produces a record at a time over one connection. The other sends a request that is small for what it asks: with many names, a
pattern, a batch that holds much, or to delete topics that many groups have nothing to do with.
"""

from __future__ import annotations

import itertools
import random
import socket
import statistics
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat_tests.harness.crowded import LONG, PATTERN, joining, with_groups, with_topics
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.connection import Connection
from pykbroker.wire.message import Message
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pykbroker.wire.messages.create_topics import CreatableTopicConfig
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pykbroker.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TopicInfo,
    Topology,
)
from pykbroker.wire.records import Compression, Record, encode_batch
from scripts.bench_job.brokers import make_pair
from scripts.bench_job.crowding import framed, one_record, timed

_TOPICS: Final = 300
_GROUPS: Final = 2000
_NAMES: Final = 20_000
#: As many as the rows of the longest turns have (``pykbroker/tests/kit/large_requests.py``).
_SUBSCRIBED: Final = 6000
_BEFORE, _REPEATED = 300, 3
_PRODUCE: Final = 9
#: Another one each time.
_PATTERN: Final = f"{PATTERN}x{{%d}}"
_TOPIC_RESOURCE: Final = 2


@dataclass(frozen=True)
class Stall:
    """Seconds: the longest wait of the one, and the time of the other's request."""

    others: float
    itself: float


Case = Callable[[], tuple[Message, int]]
Stalls = dict[str, list[Stall]]


def measure(rounds: int, folder: Path | None = None, words: str = "") -> tuple[Stalls, Stalls]:
    """Apache Kafka's and pykbroker's, by case; of those that have ``words`` in their names."""
    both: tuple[Stalls, Stalls] = ({}, {})
    cases = {name: case for name, case in {**_cases(), **_joins()}.items() if words in name}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="pykbroker-bench-", dir=folder) as data:
            for broker, found in zip(make_pair(Path(data)), both, strict=True):
                broker.start()
                try:
                    _measure(broker, cases, found)
                finally:
                    broker.stop()
    return both


def markdown(both: tuple[Stalls, Stalls]) -> str:
    """The table: medians."""
    lines = [
        "| one client's request | others wait: Apache Kafka | pykbroker | it takes: Apache Kafka | pykbroker |",
        "|---|---:|---:|---:|---:|",
    ]
    kafka, ours = both
    for case, theirs in kafka.items():
        cells = [
            f"{statistics.median(of(each) for each in stalls) * 1e3:,.0f} ms"
            for of in (lambda each: each.others, lambda each: each.itself)
            for stalls in (theirs, ours[case])
        ]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _measure(broker: BrokerProcess, cases: dict[str, Case], found: Stalls) -> None:
    _prepare(Connection(broker.bootstrap, patience_s=120))
    with _connected(broker) as mine, _connected(broker) as other:
        one = framed(one_record("mine", 100), _PRODUCE)
        for _ in range(_BEFORE):
            timed(mine, one)
        for name, case in cases.items():
            deletes = "delete" in name
            stalls = [_stalled(mine, one, other, framed(*case())) for _ in range(1 if deletes else _REPEATED)]
            print(f"{broker.name}: {name}: {stalls}", file=sys.stderr, flush=True)
            found.setdefault(name, []).extend(stalls)


def _stalled(mine: socket.socket, one: bytes, other: socket.socket, request: bytes) -> Stall:
    """Produce until the other's request is answered."""
    took: list[float] = []
    asking = threading.Thread(target=lambda: took.append(timed(other, request)))
    waits = [timed(mine, one) for _ in range(20)]
    asking.start()
    while asking.is_alive():
        waits.append(timed(mine, one))
    asking.join()
    return Stall(max(waits), took[0])


def _connected(broker: BrokerProcess) -> socket.socket:
    connection = socket.create_connection((broker.host, broker.port), 120)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _prepare(connection: Connection) -> None:
    with_topics(connection, ["mine", *_names(), *(f"unrelated-{number}" for number in range(_TOPICS))])
    compacted = [
        CreatableTopicConfig("cleanup.policy", "compact"),
        CreatableTopicConfig("max.message.bytes", "2000000"),
    ]
    with_topics(connection, ["compacted"], compacted)
    with_groups(connection, "mine", [f"group-{number}" for number in range(_GROUPS)])


def _names() -> list[str]:
    return [f"{LONG}{number}" for number in range(_TOPICS)]


def _produce(batch: bytes) -> tuple[Message, int]:
    data = TopicProduceData(name="compacted", partition_data=[PartitionProduceData(index=0, records=batch)])
    return ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[data]), _PRODUCE


def _cases() -> dict[str, Case]:
    rng = random.Random(1)
    many = [Record(timestamp=1_700_000_000_000, key=b"k", value=rng.randbytes(1)) for _ in range(500_000)]
    huge = [Record(timestamp=1_700_000_000_000, key=b"k", value=bytes(250 * 1024 * 1024))]
    of_many, of_huge = (encode_batch(each, compression=Compression.ZSTD) for each in (many, huge))
    numbers = itertools.count()
    return {
        f"a batch of 500,000 records in {len(of_many) // 1000} KB": lambda: _produce(of_many),
        f"a record of 250 MiB in {len(of_huge) // 1000} KB": lambda: _produce(of_huge),
        f"a pattern for {_TOPICS} topics with long names": lambda: (
            joining(_PATTERN % next(numbers)),
            1,
        ),
        f"DescribeConfigs of {2 * _TOPICS} topics": lambda: (
            DescribeConfigsRequest(
                [DescribeConfigsResource(_TOPIC_RESOURCE, name) for name in _names()]
                + [DescribeConfigsResource(_TOPIC_RESOURCE, f"unrelated-{number}") for number in range(_TOPICS)]
            ),
            4,
        ),
        f"DescribeTopicPartitions of {_TOPICS} topics": lambda: (
            DescribeTopicPartitionsRequest([TopicRequest(name) for name in _names()]),
            0,
        ),
        f"ListGroups of {_GROUPS} groups": lambda: (ListGroupsRequest(), 4),
        f"DescribeGroups of {_NAMES} names": lambda: (
            DescribeGroupsRequest([f"group-{number}" for number in range(_NAMES)]),
            5,
        ),
        f"delete {_TOPICS} topics beside {_GROUPS} groups": lambda: (
            DeleteTopicsRequest(topic_names=[f"unrelated-{number}" for number in range(_TOPICS)], timeout_ms=60_000),
            5,
        ),
    }


def _joins() -> dict[str, Case]:
    """What a member says of itself is one record, which is worked on at once."""
    there = [*_names(), *(f"unrelated-{number}" for number in range(_TOPICS))]
    names = there + [f"missing-{number}" for number in range(_SUBSCRIBED - len(there))]
    return {
        f"a consumer joins with {_SUBSCRIBED} topics": lambda: (
            ConsumerGroupHeartbeatRequest(
                f"joined-{uuid.uuid4()}",
                str(uuid.uuid4()),
                0,
                rebalance_timeout_ms=60_000,
                subscribed_topic_names=names,
                topic_partitions=[],
            ),
            1,
        ),
        f"a share consumer joins with {_SUBSCRIBED} topics": lambda: (
            ShareGroupHeartbeatRequest(f"joined-{uuid.uuid4()}", str(uuid.uuid4()), 0, None, names),
            1,
        ),
        f"a Streams application joins with {_SUBSCRIBED} subtopologies": lambda: (
            StreamsGroupHeartbeatRequest(
                f"joined-{uuid.uuid4()}",
                str(uuid.uuid4()),
                0,
                rebalance_timeout_ms=60_000,
                topology=Topology(
                    0,
                    [
                        Subtopology(str(number), [name], state_changelog_topics=[TopicInfo(f"changelog-{number}")])
                        for number, name in enumerate(names)
                    ],
                ),
                active_tasks=[],
                standby_tasks=[],
                warmup_tasks=[],
                process_id="process",
            ),
            1,
        ),
    }
