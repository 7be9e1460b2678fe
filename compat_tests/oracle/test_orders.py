"""Lists that Apache Kafka keeps in maps come in one order, the same from both: tests of clients compare them as they stand."""

from __future__ import annotations

import time
from contextlib import closing

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.cases.quotas import alter
from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

TOPIC, CLIENT_METRICS, GROUP = 2, 16, 32
RATES = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
#: Of each entity as many quotas as it says, set together. No two of the seven share a place in a map of sixteen.
ENTITIES: tuple[tuple[str, int], ...] = (("a", 3), ("k", 1), ("ccc", 2), ("dddd", 4), ("e", 4), ("f", 3), ("g", 2))


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
