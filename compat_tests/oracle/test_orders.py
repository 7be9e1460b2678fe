"""Lists come in one order, the same from both: tests of clients compare them as they stand."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.cases.quotas import alter
from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

TOPIC, CLIENT_METRICS, GROUP = 2, 16, 32
RATES = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
#: Of each entity as many quotas as it says, set together. No two of the seven share a place in a map of sixteen.
ENTITIES: tuple[tuple[str, int], ...] = (("a", 3), ("k", 1), ("ccc", 2), ("dddd", 4), ("e", 4), ("f", 3), ("g", 2))
#: Partitions of a fetch with their offsets: topics alternate, some are not there, one is named twice.
FETCHED = (
    ("fetched-none", 0, 0),
    ("fetched-a", 1, 0),
    ("fetched-a", 9, 0),
    ("fetched-b", 1, 0),
    ("fetched-a", 0, 5),
    ("fetched-a", 2, 0),
    ("fetched-none", 1, 0),
    ("fetched-b", 0, 0),
    ("fetched-a", 1, 7),
)


def settings(address: str) -> list[list[str]]:
    """The names of all settings of a topic, a group and a subscription."""
    with closing(Connection(address)) as connection:
        connection.ask(CreateTopicsRequest([CreatableTopic("in-order", 1, 1)], 10_000), 7)
        asked = [(TOPIC, "in-order"), (GROUP, "in-order"), (CLIENT_METRICS, "in-order")]
        request = DescribeConfigsRequest([DescribeConfigsResource(kind, name) for kind, name in asked])
        deadline = time.monotonic() + 20
        while True:
            results = connection.ask(request, 4).results
            if not any(result.error_code for result in results):
                return [[config.name for config in result.configs] for result in results]
            assert time.monotonic() < deadline, results
            time.sleep(0.05)


def quotas(address: str) -> list[tuple[str, list[str]]]:
    """Users with their quotas; the rates are set in another order than they are answered in."""
    with closing(Connection(address)) as connection:
        changes = [
            ([("user", f"in-order-{name}")], [(rate, 1000.0) for rate in RATES[:count]]) for name, count in ENTITIES
        ]
        refusals = [entry.error_code for entry in connection.ask(alter(*changes), 1).entries if entry.error_code]
        assert not refusals
        request = DescribeClientQuotasRequest([ComponentData("user", 2, None)], strict=True)
        deadline = time.monotonic() + 20
        while True:
            entries = connection.ask(request, 1).entries
            found = [(entry.entity[0].entity_name, [value.key for value in entry.values]) for entry in entries]
            mine = [each for each in found if str(each[0]).startswith("in-order-")]
            if len(mine) == len(ENTITIES):
                return mine
            assert time.monotonic() < deadline, found
            time.sleep(0.05)


def test_settings(kafka: ApacheKafka, pykbroker: Pykbroker) -> None:
    assert settings(pykbroker.bootstrap) == settings(kafka.bootstrap)


def test_quotas_of_entities(kafka: ApacheKafka, pykbroker: Pykbroker) -> None:
    for (user, theirs), (same_user, ours) in zip(quotas(kafka.bootstrap), quotas(pykbroker.bootstrap), strict=True):
        assert (same_user, ours) == (user, theirs)


def fetched(address: str, session_epoch: int) -> list[tuple[str, list[tuple[int, int]]]]:
    """The topics of an answer, with each partition's index and error."""
    topics = [
        FetchTopic(topic=topic, partitions=[FetchPartition(partition, fetch_offset=offset, partition_max_bytes=1000)])
        for topic, partition, offset in FETCHED
    ]
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=1000, session_id=0, session_epoch=session_epoch, topics=topics
    )
    with closing(Connection(address)) as connection:
        connection.ask(CreateTopicsRequest([CreatableTopic(f"fetched-{name}", 3, 1) for name in "ab"], 10_000), 7)
        deadline = time.monotonic() + 20
        while True:
            responses = connection.ask(request, 12).responses
            seen = [(topic.topic, [(p.partition_index, p.error_code) for p in topic.partitions]) for topic in responses]
            errors = [error for _, partitions in seen for _, error in partitions]
            if set(errors) <= {0, 1, 3} and errors.count(3) == 3:  # no other reason, none whose topic is not known yet
                return seen
            assert time.monotonic() < deadline, seen
            time.sleep(0.05)


@pytest.mark.parametrize("session_epoch", [-1, 0], ids=["no session", "a new session"])
def test_partitions_of_a_fetch(kafka: ApacheKafka, pykbroker: Pykbroker, session_epoch: int) -> None:
    assert fetched(pykbroker.bootstrap, session_epoch) == fetched(kafka.bootstrap, session_epoch)
