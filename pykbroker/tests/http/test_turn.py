"""How long the HTTP side keeps the loop: no request that lists much does so for long.

``tests/handlers/test_longest_turn.py`` has the requests of Kafka's protocol. Executed lines are counted, not time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from types import CodeType
from typing import Any

import pytest

from pykbroker.brokers.cluster import Cluster
from pykbroker.client.connection import BrokerConnection
from pykbroker.controller.topics import NewTopic
from pykbroker.http.api import requests, seeds
from pykbroker.http.api.route import HttpCall
from pykbroker.http.console import acls, brokers, clients, groups, members, topics, transactions
from pykbroker.http.console.call import ConsoleCall
from pykbroker.http.console.console import Console
from pykbroker.http.principal import HttpPrincipal
from pykbroker.http.turn import TURN_S, Turn
from pykbroker.runtime.clock import ManualClock, SystemClock
from pykbroker.security.acl import ALLOW, Acl
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.security.operations import READ
from pykbroker.security.resources import LITERAL, TOPIC
from pykbroker.telemetry.otlp import Kind, Point
from pykbroker.telemetry.received import ClientValues
from pykbroker.tests.http.http_client import WithHttp, with_http
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.turns import CountedTask
from pykbroker.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from pykbroker.wire.internal.coordinator import encode_versioned
from pykbroker.wire.messages.consumer_group_describe import DescribedGroup, Member
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)


class _Steered(ManualClock):
    """``at`` is what it says, in seconds."""

    at = 0.0

    def monotonic(self) -> float:
        return self.at


def _turns_of_others(parts: int, took_s: float) -> int:
    """How often others had the loop while so many parts were done, each of which took so long."""
    had = 0
    clock = _Steered()

    async def work(turn: Turn) -> None:
        for _ in range(parts):
            clock.at += took_s
            await turn.share()

    async def others() -> None:
        nonlocal had
        while True:
            had += 1
            await asyncio.sleep(0)

    async def both() -> int:
        beside = asyncio.create_task(others())
        await asyncio.sleep(0)
        before = had
        await work(Turn(clock.monotonic, MemoryCluster().cluster))
        beside.cancel()
        return had - before

    return asyncio.run(both())


def test_little_pieces_go_together() -> None:
    assert _turns_of_others(100, TURN_S / 1000) == 0


def test_others_have_their_turn_after_each_that_took_long() -> None:
    assert _turns_of_others(10, TURN_S * 1.01) == 10
    assert _turns_of_others(10, TURN_S * 0.51) == 5


#: Things of each kind, and the most lines between two waits of a request that lists them. Each row takes more without turns.
MANY, FEWER, WIDE = 1500, 2500, 600
MOST_LINES = 5500


@pytest.fixture
def always_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others have the loop wherever the clock is looked at: what is counted does not depend on how fast a machine and its clock are."""
    monkeypatch.setattr("pykbroker.http.turn.TURN_S", 0.0)


@pytest.fixture(scope="module")
def full() -> Iterator[WithHttp]:
    """A broker that has much to list."""
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:console;User:ANONYMOUS"}
    with with_http(settings=settings) as http:
        kafka = http.kafka
        console = Console(kafka.node, http.side._meter, http.side._clock)
        lists = [Acl(TOPIC, "t", LITERAL, f"User:{number}", "*", READ, ALLOW) for number in range(MANY)]

        def begin(cluster: Cluster) -> Any:
            made = cluster.controller.create_topics([NewTopic(f"t-{number}", 1, 1) for number in range(MANY)])
            return made.chain(lambda _: cluster.controller.create_acls(lists))

        kafka._ask_later(begin)
        kafka.create_topic("wide", WIDE)
        kafka._run(_use(console))
        kafka._run(_push(kafka.node.cluster))
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        with contextlib.closing(BrokerConnection(host, int(port), timeout_s=30, client_id="c")) as talk:
            talk.call(DescribeGroupsRequest([f"g-{number}" for number in range(MANY)]), DescribeGroupsResponse, 5)
        yield http


async def _use(console: Console) -> None:
    """A group with offsets of many partitions, groups with one each, and transactional ids."""
    for group, count in (("wide", WIDE), *((f"g-{number}", 1) for number in range(FEWER))):
        partitions = [OffsetCommitRequestPartition(index, 0) for index in range(count)]
        asked = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic("wide", partitions=partitions)])
        await console.brokers.ask(asked, 8, await console.brokers.coordinator(group))
    for number in range(FEWER):
        await console.brokers.coordinator(f"id-{number}", 1)
        await console.brokers.ask(InitProducerIdRequest(f"id-{number}", 60_000), 4)


async def _push(cluster: Cluster) -> None:
    """Clients that have sent a metric each."""
    received = next(iter(cluster.brokers.values())).telemetry.received
    for number in range(3 * FEWER):
        client = ClientValues(f"instance-{number}", f"client-{number}", "a library")
        received.take(client, [Point("sent", (), Kind.GAUGE, 1.0)], 3_600_000)


#: The page, what it says, and how much there is of it.
LISTS = {
    "topics": (topics.listed, {}, MANY + 3),
    "a topic": (topics.one, {"topic": "wide"}, 0),
    "groups": (groups.listed, {}, FEWER + 1),
    "a group": (groups.one, {"group": "wide"}, WIDE),
    "transactions": (transactions.listed, {"limit": 1}, FEWER),
    "access lists": (acls.listed, {}, MANY),
    "clients": (clients.listed, {"limit": 1}, 3 * FEWER),
    "brokers": (brokers.listed, {}, 0),
    "the overview": (brokers.overview, {}, 0),
}


def _of_the_page(code: CodeType) -> bool:
    """Handlers, to which the page speaks as clients do, have their rows elsewhere; their answers are decoded here."""
    return "/http/" in code.co_filename or code.co_name == "decode"


@pytest.mark.usefixtures("always_long")
@pytest.mark.parametrize("name", LISTS)
@pytest.mark.deep(but=3)
def test_no_page_of_the_console_keeps_the_loop_for_long(full: WithHttp, name: str) -> None:
    console = Console(full.kafka.node, full.side._meter, full.side._clock)
    handle, said, total = LISTS[name]

    async def asked() -> tuple[Any, int]:
        task = CountedTask(handle(console, ConsoleCall(said, None)), _of_the_page)  # type: ignore[arg-type]
        return await task, task.longest

    found, longest = full.kafka._run(asked())
    assert found.get("total", 0) == total
    assert 0 < longest <= MOST_LINES


@pytest.mark.usefixtures("always_long")
@pytest.mark.deep
def test_no_scrape_keeps_the_loop_for_long(full: WithHttp) -> None:
    """Of all metrics, with the lines of the rooms that they read."""

    async def scraped() -> tuple[list[bytes], int]:
        task = CountedTask(full.side._scrapes._scrape())
        return await task, task.longest

    pieces, longest = full.kafka._run(scraped())
    page = b"".join(pieces)
    assert page.count(b"kafka_topic_partition_current_offset{") > MANY + WIDE
    assert page.count(b"kafka_consumergroup_current_offset{") == FEWER + WIDE
    assert page.count(b"kafka_client_sent{") == 3 * FEWER
    assert 0 < longest <= MOST_LINES


@pytest.mark.usefixtures("always_long")
def test_no_group_of_many_members_keeps_the_loop_for_long() -> None:
    """Of members that wait for partitions, and of a leader that gave one of them very many."""

    async def read(work: Any) -> int:
        task = CountedTask(work, _of_the_page)
        await task
        return task.longest

    turn = Turn(SystemClock().monotonic, MemoryCluster().cluster)
    waiting = DescribedGroup(members=[Member(member_id=str(number)) for number in range(2 * MANY)])
    assert asyncio.run(read(members._assigned_by_broker("consumer", waiting, turn))) <= MOST_LINES
    many = [TopicPartition(f"t-{number}", [0]) for number in range(2 * MANY)]
    given = encode_versioned(ConsumerProtocolAssignment(many), 0)
    assert asyncio.run(read(members._assigned(given))) <= MOST_LINES
    assert len(asyncio.run(members._assigned(given))) == 2 * MANY


@pytest.mark.usefixtures("always_long")
def test_no_list_of_requests_keeps_the_loop_for_long(full: WithHttp) -> None:
    """Of which one has thousands of answers."""
    found, longest = _measured(full, requests.listed, query={"api": "DescribeGroups"})
    assert [each["error_codes"] for each in found["requests"]] == [[]]
    assert longest <= MOST_LINES


@pytest.mark.usefixtures("always_long")
def test_no_seed_keeps_the_loop_for_long(full: WithHttp) -> None:
    """Its records are written in slices; the rights to do so are asked for before."""
    lines = b"".join(b'{"topic":"t-%d","value":"x"}\n' % (number % 7) for number in range(2 * MOST_LINES))
    found, longest = _measured(full, seeds.loaded, kind="application/jsonl", raw=lines)
    assert found == {"topics": 0, "records": 2 * MOST_LINES}
    assert longest <= MOST_LINES


def _measured(http: WithHttp, handle: Any, **said: Any) -> tuple[Any, int]:
    """The answer of the interface, and the most lines between two waits."""
    call = HttpCall(**{"path": {}, "body": {}, "query": {}, "principal": HttpPrincipal(http.kafka.node, ""), **said})

    async def asked() -> tuple[Any, int]:
        task = CountedTask(handle(http.kafka._embedded.steering(), call))
        return await task, task.longest

    found: tuple[Any, int] = http.kafka._run(asked())
    return found
