"""The same requests of a client with quotas to Apache Kafka and to pykbroker: the same throttle times.

What a broker tells is a sum of what was used less the time that has passed since the first use, whole windows aside. The sum is
the same for both to the byte; the time is that between two requests of this test, which the test measures. So an answer may be
lower than the sum says by the time that the requests took together, a window at most, and never higher.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final, NamedTuple

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.cases.quotas import alter
from compat_tests.oracle.cases.share_groups import fetches, joined, new_group
from compat_tests.oracle.connection import Connection
from compat_tests.oracle.requests import Ask
from pykbroker.wire.message import Message
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from pykbroker.wire.records import Record, encode_batch

#: Bytes per second, and partitions per second.
RATE: Final = 10_000
WINDOW_MS: Final = 1000
BATCH: Final = encode_batch([Record(value=bytes(9900))])
#: Six batches for a member of a share group.
SHARED: Final = {"max_wait_ms": 15_000, "max_bytes": 6 * len(BATCH)}
#: Client ids of members.
SHARERS: Final = ("sharing", "sharing-again", "sharing-once-more")
#: The windows that count together, less one for what an exchange takes.
WINDOWS_S: Final = 9


class Reported(NamedTuple):
    """What an answer said, and the most that it may say: it says less by the time that passed, ``slack_ms`` at most."""

    error: int
    throttle_ms: int
    most_ms: float
    slack_ms: float

    def holds(self) -> bool:
        return max(0, self.most_ms - self.slack_ms - 1) <= self.throttle_ms <= max(0, self.most_ms) + 1


class Client:
    """A client whose every request comes over a connection of its own: one that is muted would only wait."""

    def __init__(self, address: str, client_id: str) -> None:
        self._address = address
        self._id = client_id
        self.began = 0.0

    def ask(self, request: Message, version: int) -> Any:
        self.began = self.began or time.monotonic()
        with closing(Connection(self._address, self._id)) as connection:
            return connection.ask(request, version)

    def passed_ms(self) -> float:
        return (time.monotonic() - self.began) * 1000


def produce(topic: str, batches: int) -> ProduceRequest:
    """What a broker makes of a partition that is named so often does not matter: the request weighs what it does."""
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, BATCH)])
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data] * batches)


def fetch(topic: str, batches: int) -> FetchRequest:
    """Whole batches."""
    partition = FetchPartition(0, -1, 0, partition_max_bytes=batches * len(BATCH))
    return FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=1_000_000, topics=[FetchTopic(topic, partitions=[partition])]
    )


def create(name: str, partitions: int, *, validate_only: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreatableTopic(name, partitions, 1)], 10_000, validate_only)


@contextmanager
def one_client(address: str) -> Iterator[Ask]:
    ask = Ask(address, 1, "throttled")
    try:
        yield ask
    finally:
        ask.close()


def limit(ask: Ask, **quotas: float) -> None:
    """Set quotas for each client id, and wait until they hold: what is set later holds later."""
    for name in ("throttled", *SHARERS, "sentinel"):
        ask.quietly(alter(([("client-id", name)], list(quotas.items()))), 1)
    until(lambda: throttle(ask, produce("nothing", 12), 9))
    until(lambda: throttle(ask, create("sentinel", 100, validate_only=True), 7))


def throttle(ask: Ask, request: Message, version: int) -> int:
    reported: int = Client(f"127.0.0.1:{ask.port}", "sentinel").ask(request, version).throttle_time_ms
    return reported


def until(reported: Callable[[], int]) -> None:
    deadline = time.monotonic() + 20
    while not reported():
        assert time.monotonic() < deadline, "the quota does not hold"


def frame_size(client_id: str, request: Message, version: int) -> int:
    """Bytes of a request: its header has key, version, correlation id and client id, and in flexible versions a byte more."""
    body = bytearray()
    request.encode(body, version)
    return 2 + 2 + 4 + 2 + len(client_id) + (version >= 9) + len(body)


def exchange(address: str) -> list[Reported]:
    """All that is asked of a broker."""
    with one_client(address) as ask:
        topic = ask.topic()
        for _ in range(12):
            ask.quietly(produce(topic, 1), 8)
        ask.wait_for_coordinators()
        groups = {each: new_group(ask) for each in SHARERS}
        for group in groups.values():
            joined(ask, group, topic)
        limit(ask, producer_byte_rate=RATE, consumer_byte_rate=RATE, controller_mutation_rate=1)
        return [
            *produced(address, topic),
            *fetched(address, topic),
            *shared(
                address,
                {
                    each: [fetches(ask, group, topic, epoch, **SHARED) for epoch in (0, 1)]
                    for each, group in groups.items()
                },
            ),
            *created(address, ask.name("made")),
        ]


def produced(address: str, topic: str) -> Iterator[Reported]:
    client = Client(address, "throttled")
    used = 0
    for batches in (6, 5, 1):
        request = produce(topic, batches)
        used += frame_size("throttled", request, 9)
        answer = client.ask(request, 9)
        yield Reported(0, answer.throttle_time_ms, used * 1000 / RATE - 10_000, min(client.passed_ms(), WINDOW_MS))


def fetched(address: str, topic: str) -> Iterator[Reported]:
    client = Client(address, "throttled")
    first = client.ask(fetch(topic, 6), 11)
    body = bytearray()
    first.encode(body, 11)
    yield Reported(len(first.responses), first.throttle_time_ms, 0, 0)
    second = client.ask(fetch(topic, 5), 11)
    used = 2 * (4 + len(body)) - len(BATCH)
    slack = min(client.passed_ms(), WINDOW_MS)
    yield Reported(len(second.responses), second.throttle_time_ms, used * 1000 / RATE - 10_000, slack)


def shared(address: str, requests_of: dict[str, list[ShareFetchRequest]]) -> list[Reported]:
    """Of a share session, which ends with its connection; of the next client where the requests took so long that the first is forgotten:
    Apache Kafka on a busy machine now and then answers at the end of ``max_wait_ms``.
    """
    for client_id, requests in requests_of.items():
        began = time.monotonic()
        with closing(Connection(address, client_id)) as connection:
            first, second = (connection.ask(request, 2) for request in requests)
        passed_s = time.monotonic() - began
        if passed_s < WINDOWS_S:
            break
    body = bytearray()
    first.encode(body, 2)
    used, slack = 2 * (4 + len(body)), min(passed_s * 1000, WINDOW_MS)
    return [
        Reported(acquired(first), first.throttle_time_ms, 0, 0),
        Reported(acquired(second), second.throttle_time_ms, used * 1000 / RATE - 10_000, slack),
    ]


def acquired(answer: ShareFetchResponse) -> int:
    parts = [each for topic in answer.responses for part in topic.partitions for each in part.acquired_records]
    return sum(each.last_offset - each.first_offset + 1 for each in parts)


def created(address: str, name: str) -> Iterator[Reported]:
    client = Client(address, "throttled")
    answer = client.ask(create(f"{name}-a", 15), 7)
    yield Reported(answer.topics[0].error_code, answer.throttle_time_ms, 0, 0)
    answer = client.ask(create(f"{name}-b", 1), 7)
    yield Reported(answer.topics[0].error_code, answer.throttle_time_ms, 4000, client.passed_ms())
    answer = client.ask(CreatePartitionsRequest([CreatePartitionsTopic(f"{name}-a", 16, None)], 10_000), 3)
    yield Reported(answer.results[0].error_code, answer.throttle_time_ms, 4000, client.passed_ms())
    answer = client.ask(create(f"{name}-b", 1), 5)
    yield Reported(answer.topics[0].error_code, answer.throttle_time_ms, 5000, client.passed_ms())
    answer = client.ask(DeleteTopicsRequest(topic_names=[f"{name}-a"], timeout_ms=10_000), 4)
    yield Reported(answer.responses[0].error_code, answer.throttle_time_ms, 20_000, client.passed_ms())


def test_both_tell_the_same_throttle_times(kafka: ApacheKafka, pykbroker: Pykbroker) -> None:
    theirs, ours = exchange(kafka.bootstrap), exchange(pykbroker.bootstrap)
    assert [reported.error for reported in ours] == [reported.error for reported in theirs]
    assert [reported for reported in theirs if not reported.holds()] == []
    assert [reported for reported in ours if not reported.holds()] == []
    certain = [reported for reported in ours if reported.most_ms > reported.slack_ms + 1]
    assert all(reported.throttle_ms for reported in certain)
    assert len(certain) >= 6  # of eight; two may be paid off where this machine stands still for a second
