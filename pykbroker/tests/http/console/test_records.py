"""Records: every one is found once, whatever the pages and the order; one is looked at, one produced."""

from __future__ import annotations

import base64
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from pykbroker.http.console.reading import LARGEST_CONTENT
from pykbroker.tests.http.http_client import WithHttp
from pykbroker.wire.records import Compression, Record, encode_batch

_COUNT = 600


@pytest.fixture(scope="module")
def filled(http: WithHttp) -> WithHttp:
    """Three partitions with records, a timestamp of its own for each."""
    http.kafka.create_topic("filled", 3)
    for number in range(_COUNT):
        http.kafka.produce(
            "filled", f"value {number}", key=f"k{number % 7}", headers={"n": str(number)}, timestamp_ms=1000 + number
        )
    return http


def pages(http: WithHttp, **asked: Any) -> Iterator[dict[str, Any]]:
    cursor = ""
    while cursor is not None:
        found = http.look("/records", cursor=cursor, **asked)
        assert len(found["records"]) <= asked.get("limit", 50)
        yield from found["records"]
        cursor = found["cursor"]


@pytest.mark.parametrize("limit", [1 if _COUNT < 10 else 13, 50, 200])
@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.deep(but=2)
def test_every_record_once(filled: WithHttp, order: str, limit: int) -> None:
    found = list(pages(filled, topic="filled", order=order, limit=limit))
    assert sorted(each["value"]["text"] for each in found) == sorted(f"value {number}" for number in range(_COUNT))
    for index in range(3):
        offsets = [each["offset"] for each in found if each["partition"] == index]
        assert offsets == sorted(offsets, reverse=order == "newest")


def test_the_newest_are_the_newest(filled: WithHttp) -> None:
    found = filled.look("/records", topic="filled", limit=10)["records"]
    assert [each["timestamp"] for each in found] == [1000 + _COUNT - 1 - at for at in range(10)]
    found = filled.look("/records", topic="filled", limit=10, order="oldest")["records"]
    assert [each["timestamp"] for each in found] == list(range(1000, 1010))


def test_a_search_reads_little_more_than_what_it_finds(filled: WithHttp) -> None:
    for order in ("newest", "oldest"):
        found = filled.look("/records", topic="filled", limit=10, order=order, value="value")
        assert len(found["records"]) == 10
        assert found["scanned"] <= 60, order
    rare = filled.look("/records", topic="filled", limit=10, value="value 599")
    assert (len(rare["records"]), rare["scanned"], rare["left"]) == (1, _COUNT, 0)


@pytest.mark.parametrize(
    ("asked", "values"),
    [
        ({"value": "value 59"}, [59, *range(590, 600)]),
        ({"text": "value 123"}, [123]),
        ({"header": "n=345"}, [345]),
        ({"key": "k3", "since": 1590}, [591, 598]),
        ({"since": 1100, "until": 1102}, [100, 101, 102]),
        ({"text": "VALUE 42", "anycase": "1", "until": 1100}, [42]),
        ({"text": "nothing like it"}, []),
    ],
)
def test_what_is_looked_for(filled: WithHttp, asked: dict[str, Any], values: list[int]) -> None:
    found = pages(filled, topic="filled", **asked)
    assert sorted(int(each["value"]["text"].split()[1]) for each in found) == values


def test_partitions_and_offsets(filled: WithHttp) -> None:
    found = pages(filled, topic="filled", partitions="1", **{"from": 10, "to": 12})
    assert [(each["partition"], each["offset"]) for each in found] == [(1, 12), (1, 11), (1, 10)]
    assert list(pages(filled, topic="filled", **{"from": 10_000})) == []


def test_one_record_in_whole(http: WithHttp) -> None:
    http.kafka.create_topic("long")
    text = "long " * 1000
    http.kafka.produce("long", "first")
    http.kafka.produce("long", text)
    (newest, _) = http.look("/records", topic="long")["records"]
    assert (newest["value"]["cut"], newest["value"]["size"], len(newest["value"]["text"])) == (True, len(text), 2048)
    assert http.look("/record", topic="long", partition=0, offset=1)["value"]["text"] == text
    assert http.refusal("/record", topic="long", partition=0, offset=2)[0] == 404
    assert http.refusal("/record", topic="long", partition=1, offset=0)[0] == 404


def test_an_answer_that_lies_in_its_file_is_read_in_whole(http: WithHttp) -> None:
    """A batch that is larger than what a fetch reads at once."""
    http.kafka.create_topic("large", configs={"max.message.bytes": 4_000_000})
    value = bytes(range(256)) * 12_000
    http.kafka.produce("large", value)
    (found,) = http.look("/records", topic="large")["records"]
    assert found["value"]["size"] == len(value)
    whole = http.look("/record", topic="large", partition=0, offset=0)["value"]
    assert base64.b64decode(whole["base64"]) == value[: 1024 * 1024]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches(http: WithHttp, codec: str) -> None:
    producer = Producer({"bootstrap.servers": http.kafka.bootstrap_servers, "compression.type": codec, "linger.ms": 50})
    values = {f"{number} {'x' * 300}" for number in range(500)}
    for value in values:
        producer.produce(f"packed-{codec}", value)
    assert producer.flush(60) == 0
    assert {each["value"]["text"] for each in pages(http, topic=f"packed-{codec}", limit=200)} == values


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
@pytest.mark.deep(but=2)
def test_a_batch_that_holds_too_much_is_said_and_not_read(http: WithHttp, codec: Compression, order: str) -> None:
    """Some kilobytes of a stranger, that are a hundred megabytes."""
    topic = f"bomb-{codec.name}-{order}"
    http.kafka.create_topic(topic)
    http.kafka.produce(topic, "before")
    bomb = encode_batch([Record(value=bytes(50_000_000), timestamp=5)] * 2, compression=codec)
    partition = http.kafka._ask(lambda cluster: cluster.partition(topic, 0))
    http.kafka._ask(lambda _: partition.append_produce(memoryview(bytearray(bomb))))
    http.kafka.produce(topic, "after")
    tracemalloc.start()
    try:
        found = list(pages(http, topic=topic, order=order))
        alone = http.look("/record", topic=topic, partition=0, offset=2)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 3 * LARGEST_CONTENT
    unread = "offsets 1 to 2 are one batch that is not shown: compressed data holds more than 16777216 bytes"
    assert sorted((each["offset"], each.get("unread")) for each in found) == [(0, None), (1, unread), (3, None)]
    assert alone["unread"] == unread


def test_transactions_are_shown_as_readers_see_them_or_in_whole(http: WithHttp) -> None:
    producer = Producer({"bootstrap.servers": http.kafka.bootstrap_servers, "transactional.id": "shown"})
    http.kafka.create_topic("txn")
    producer.init_transactions(60)
    for value, ends in (("kept", producer.commit_transaction), ("void", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce("txn", value)
        assert producer.flush(60) == 0
        ends(60)
    seen = list(pages(http, topic="txn"))
    assert [each["value"]["text"] for each in seen if "control" not in each] == ["kept"]
    whole = list(pages(http, topic="txn", uncommitted="1", order="oldest"))
    assert [each["meaning"]["type"] if "control" in each else each["value"]["text"] for each in whole] == [
        *("kept", "COMMIT", "void", "ABORT"),
    ]


def test_internal_topics_by_their_own_records(http: WithHttp) -> None:
    http.kafka.create_topic("read-by")
    http.kafka.produce("read-by", "x")
    http.change("/groups/reset", group="reader", topic="read-by", to="latest")
    found = [each["meaning"] for each in pages(http, topic="__consumer_offsets")]
    (mine,) = [each for each in found if each["key"].get("topic") == "read-by"]
    assert (mine["type"], mine["key"]["group"], mine["value"]["offset"]) == ("OffsetCommit", "reader", 1)


def test_produce(http: WithHttp) -> None:
    http.kafka.create_topic("made-here", 3)
    sent = http.change(
        "/records/produce", topic="made-here", key="k", value="é", headers=[{"name": "a", "value": None}]
    )
    (record,) = http.kafka.records("made-here")
    assert (record.partition, record.offset) == (sent["partition"], sent["offset"])
    assert (record.key, record.text, record.headers) == (b"k", "é", (("a", None),))
    http.change("/records/produce", topic="made-here", partition=2, key_base64="AP8=", value=None)
    assert [(each.key, each.value) for each in http.kafka.records("made-here", 2)][-1] == (b"\x00\xff", None)


@pytest.mark.parametrize(
    "said",
    [
        {"partition": 9},
        {"partition": "x"},
        {"key_base64": "%%%"},
        {"key_base64": "\u00e9"},
        {"value": 5},
        {"value": "x" * (2 * 1024 * 1024 + 1)},
        {"headers": [{"value": "x"}]},
        {"headers": [{"name": "x"}] * 101},
        {"value": "\ud800"},
        {"headers": [{"name": "\ud800"}]},
    ],
)
def test_what_cannot_be_produced(http: WithHttp, said: dict[str, Any]) -> None:
    if "strict" not in http.kafka.topics():
        http.kafka.create_topic("strict")
    assert http.changed("/records/produce", **{"topic": "strict", "value": "x", **said}).status in (400, 404, 422)
    assert http.kafka.records("strict") == []


def test_a_topic_that_is_not_there_is_not_made(http: WithHttp) -> None:
    assert http.changed("/records/produce", topic="absent", value="x").status == 404
    assert http.refusal("/records", topic="absent")[0] == 404
    assert "absent" not in http.kafka.topics()
