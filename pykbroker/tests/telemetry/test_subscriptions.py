"""What subscriptions ask of a client, and the id of it."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.telemetry.subscriptions import (
    AllSubscriptions,
    Subscribed,
    in_java_order,
    subscription_id,
    subscription_of,
)

CLIENT = {"client_id": "orders-1", "client_software_name": "librdkafka"}


def asked(client: dict[str, str] = CLIENT, **subscriptions: dict[str, str]) -> Subscribed:
    return _all(**subscriptions).of(client)


def _all(**subscriptions: dict[str, str]) -> AllSubscriptions:
    return AllSubscriptions({name: subscription_of(settings) for name, settings in subscriptions.items()})


def test_without_a_subscription_nothing_is_asked() -> None:
    assert asked() == ([], 300_000)


def test_all_that_match_are_asked_together_at_the_shortest_interval() -> None:
    every: dict[str, Any] = {
        "one": {"metrics": "a,b", "interval.ms": "60000"},
        "two": {"metrics": "b,c", "match": "client_id=orders-[0-9]+,client_software_name=librdkafka"},
        "not": {"metrics": "d", "interval.ms": "100", "match": "client_id=orders"},
        "nor": {"metrics": "e", "interval.ms": "100", "match": "client_source_port=.*"},
    }
    assert asked(**every) == (["a", "b", "c"], 60_000)
    assert asked(**every, all={"metrics": "*"}) == (["*"], 60_000)


def test_a_pattern_that_the_engine_does_not_know_matches_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Java's patterns look ahead and behind; the engine here needs no more time than the text is long, and has neither."""
    assert asked(looks={"metrics": "a", "match": "client_id=(?!x).*"}) == ([], 300_000)
    assert "The subscription 'looks' of client metrics applies to no client" in caplog.text


def test_clients_share_what_the_same_subscriptions_ask_of_them() -> None:
    """Otherwise each of thousands of instances has a list of its own of all that an administrator has named."""
    subscriptions = _all(
        every={"metrics": "a,b"},
        **{f"s{number}": {"metrics": "c", "match": f"client_id={number}"} for number in range(100)},
    )
    first = subscriptions.of({"client_id": "x"})
    assert subscriptions.of({"client_id": "y"}) is first
    assert first == (["a", "b"], 300_000)
    for number in range(100):
        assert subscriptions.of({"client_id": str(number)}).metrics == ["a", "b", "c"]
    assert len(subscriptions._kept) <= 64


def test_no_pattern_takes_long() -> None:
    client = {"client_id": "a" * 250 + "!"}
    assert asked(client, hostile={"metrics": "x", "match": "client_id=(a+)+b"}).metrics == []


@pytest.mark.parametrize(
    ("metrics", "interval", "client", "number"),
    [
        ((), 300_000, b"client-instance-", -640_741_730),
        (("*",), 300_000, b"out-of-turn-----", 1_679_365_498),
    ],
    ids=["nothing", "all"],
)
def test_the_ids_that_apache_kafka_has_computed(
    metrics: tuple[str, ...], interval: int, client: bytes, number: int
) -> None:
    assert subscription_id(Subscribed(list(metrics), interval), client) == number


def test_names_are_in_the_order_of_a_hash_set() -> None:
    assert in_java_order(["BB", "Aa", "BB"]) == ["BB", "Aa"]  # the same hash: as they come
    assert in_java_order([f"m{number}" for number in (10, 9, 1)]) == ["m1", "m9", "m10"]
    assert in_java_order(["a" * n for n in range(1, 13)], sized=True) != in_java_order(["a" * n for n in range(1, 13)])
