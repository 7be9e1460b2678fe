"""``pykbroker verify`` on topics of a running broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from pykbroker.testing import Kafka
from pykbroker.tests.cli.conftest import Result

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with Kafka() as kafka:
        kafka.create_topic("orders", 3)
        for number in range(5):
            kafka.produce(
                "orders",
                json.dumps({"id": number, "to": {"name": f"n{number}"}}),
                key=f"k{number % 2}",
                headers={"h": str(number)},
            )
        kafka.create_topic("empty")
        yield kafka


def _written(kafka: Kafka, topic: str, *numbers: int) -> str:
    for number in numbers:
        kafka.produce(
            topic,
            json.dumps({"id": number, "to": {"name": f"n{number}"}}),
            key=f"k{number % 2}",
            headers={"h": str(number)},
        )
    return topic


def test_what_holds(run: Run, kafka: Kafka) -> None:
    whole = _written(kafka, "whole", 4, 3, 2, 1, 0)
    for key in ("id", "to.name", "$value", "$header.h"):
        found = run("verify", "-b", kafka.bootstrap_servers, "--in", "orders", "--out", whole, "--key", key)
        assert (found.status, found.out, found.err) == (
            0,
            "",
            "exactly-once holds: 5 records in orders, 5 records in whole\n",
        )


def test_what_does_not_hold(run: Run, kafka: Kafka) -> None:
    at = ("-b", kafka.bootstrap_servers, "--in", "orders", "--key", "id")
    part = _written(kafka, "part", 0, 1, 1, 3, 4, 9)
    found = run("verify", *at, "--out", part)
    assert found.status == 1
    assert [line.split(" (")[0] for line in found.out.splitlines()] == ["doubled: 1", "lost: 2", "unasked: 9"]
    assert "part-0@1, part-0@2" in found.out
    less = json.loads(run("verify", *at, "--out", part, "--guarantee", "at-most-once", "--json").out)
    assert [each["kind"] for each in less["findings"]] == ["doubled", "unasked"]
    torn = run(
        "verify", *at, "--out", _written(kafka, "one", 0, 1, 2, 3, 4), "--out", _written(kafka, "other", 0, 1, 2, 3)
    )
    assert torn.out.splitlines()[0].startswith("torn: 4 (orders-")
    ordered = run("verify", *at, "--out", _written(kafka, "back", 4, 2, 0, 1, 3), "--in-order", "--json")
    assert [each["kind"] for each in json.loads(ordered.out)["findings"]] == ["out of order", "out of order"]
    assert run("verify", *at, "--out", "empty", "--json").status == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--key", "$what"), "$header.NAME"),
        (("--key", "a..b"), "$header.NAME"),
        (("--key", "nothing"), "could identify it"),
        (("--guarantee", "always"), "at-least-once"),
        (("--out", "no-such-topic"), "no-such-topic"),
    ],
)
def test_what_cannot_be_is_said(run: Run, kafka: Kafka, words: tuple[str, ...], said: str) -> None:
    found = run("verify", "-b", kafka.bootstrap_servers, "--in", "orders", "--out", "empty", *words)
    assert found.status in (1, 2)
    assert said in found.err


def test_what_is_from_an_aborted_or_an_open_transaction_is_read_too_early(run: Run, kafka: Kafka) -> None:
    kafka.create_topic("sold", 1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "shop"})
    producer.init_transactions(30)
    for number, end in enumerate((producer.commit_transaction, producer.abort_transaction, None)):
        producer.begin_transaction()
        producer.produce("sold", b"%d" % number)
        assert producer.flush(30) == 0
        if end is not None:
            end(30)
    for number in range(4):
        kafka.produce("early", b"%d" % number)
    found = run("verify", "-b", kafka.bootstrap_servers, "--in", "sold", "--out", "early")
    assert found.status == 1
    assert found.out.splitlines() == [
        "read too early: 1 (sold-0@2, early-0@1)",
        "read too early: 2 (sold-0@4, early-0@2)",
        "unasked: 3 (early-0@3)",
    ]
    with pytest.raises(AssertionError, match=r"read too early: b'2' \(sold-0@4, early-0@2\)"):
        kafka.judge("sold", "early")
    producer.abort_transaction(30)
