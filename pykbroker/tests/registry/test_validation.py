"""What a batch's frames say, how records are named, which settings validate, and what is done where that fails or there is much. With
stock clients: ``compat_tests/registry/test_validation.py``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("avro")
pytest.importorskip("grpc_tools")

from pykbroker.client.connection import BrokerConnection
from pykbroker.controller.topics import NewTopic
from pykbroker.http.schema_registry import SchemaRegistrySide
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.process.life import Lifetimes
from pykbroker.process.unvalidated import ValidationWarnings
from pykbroker.registry import validation
from pykbroker.registry.parsing import SchemaSource, _parsed
from pykbroker.registry.validation import RECORD_NAME, SchemaValidation, Validated, frames, record_names, validated_by
from pykbroker.requests.pipeline import Place
from pykbroker.steered.http_options import HttpOptions
from pykbroker.testing import Kafka
from pykbroker.tests.kit.metadata import alter
from pykbroker.tests.kit.turns import MOST, Counted
from pykbroker.wire.errors import ErrorCode, WireError
from pykbroker.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from pykbroker.wire.records import Compression, Record, encode_batch

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
VALUE = {"confluent.value.schema.validation": "true"}


def framed(number: int, content: bytes = b"\x02") -> bytes:
    return b"\0" + number.to_bytes(4, "big") + content


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_ids_are_bounded(codec: Compression) -> None:
    records = [Record(value=framed(number)) for number in range(2000)]
    batch = encode_batch(records, base_offset=0, compression=codec)
    with pytest.raises(WireError, match="more than 1000 schema ids"):
        frames(batch, Validated(None, "x"))
    (found,) = frames(encode_batch(records[:5] * 900, base_offset=0, compression=codec), Validated(None, "x"))
    assert (sum(found.counts.values()), sum(map(len, found.records.values()))) == (4500, 500)


def test_the_names_of_records() -> None:
    def names(kind: str, text: str) -> frozenset[str]:
        return record_names(kind, _parsed(SchemaSource(kind, text)))

    assert names("AVRO", ORDER) == {"shop.Order"}
    assert names("AVRO", '{"type":"enum","name":"a.E","symbols":[]}') == {"a.E"}
    assert names("AVRO", '"string"') == {"string"}
    assert names("JSON", "true") == names("JSON", "{}") == frozenset()
    assert names("PROTOBUF", 'syntax = "proto3"; message A { message B {} }') == {"A", "A.B"}


def test_what_settings_validate() -> None:
    assert validated_by({}) is None
    assert validated_by({"confluent.value.schema.validation": "false"}) is None
    assert validated_by(VALUE) == (None, "io.confluent.kafka.serializers.subject.TopicNameStrategy")


INT = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
VALUES = {"confluent.value.schema.validation": "true"}


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with Kafka(schema_registry=True) as found:
        yield found


def produced(kafka: Kafka, value: bytes, codec: Compression = Compression.NONE) -> ErrorCode:
    """The error code of one record to the topic ``t``."""
    batch = encode_batch([Record(value=value)], base_offset=0, compression=codec)
    host, port = kafka.bootstrap_servers.rsplit(":", 1)
    connection = BrokerConnection(host, int(port), timeout_s=30, client_id="p")
    try:
        data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, batch)])]
        answer = connection.call(ProduceRequest(None, 1, 5000, data), ProduceResponse, 9)
    finally:
        connection.close()
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def test_records_are_refused_where_validation_fails(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason: a batch that nobody has looked at is not written."""
    kafka.create_topic("t", 1, configs={**VALUES, "confluent.value.subject.name.strategy": RECORD_NAME})
    number = kafka.schemas.register("R", INT)
    framed = b"\0" + number.to_bytes(4, "big")
    assert produced(kafka, framed) == ErrorCode.NONE
    kafka.reset()
    kafka.create_topic("t", 1, configs={**VALUES, "confluent.value.subject.name.strategy": RECORD_NAME})
    kafka.schemas.register("R", INT)

    def broken(kind: str, parsed: Any) -> frozenset[str]:
        raise RuntimeError("a fault in the code that validates")

    monkeypatch.setattr(validation, "record_names", broken)
    assert kafka._http_side is not None
    side: Any = kafka._http_side._sides[0]
    kafka._ask(lambda _: side._validation._names.clear())  # type: ignore[attr-defined]
    assert produced(kafka, framed) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert kafka.records("t") == []


def test_copies_that_are_validated_count_as_memory(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka.create_topic("t", 1, configs=VALUES)
    number = kafka.schemas.register("t-value", INT)
    begun, go_on = threading.Event(), threading.Event()
    frames = validation.frames

    def slow(*given: Any) -> Any:
        begun.set()
        assert go_on.wait(30)
        return frames(*given)

    monkeypatch.setattr(validation, "frames", slow)

    def held() -> tuple[int, int]:
        memory = kafka._ask(lambda cluster: cluster.runtime.memory)
        return memory.received.held, memory.decompressed.held

    before = held()
    found: list[ErrorCode] = []
    value = b"\0" + number.to_bytes(4, "big") + bytes(range(256)) * 400
    sender = threading.Thread(target=lambda: found.append(produced(kafka, value, Compression.GZIP)))
    sender.start()
    assert begun.wait(30)
    assert held()[1] - before[1] >= len(value)
    assert held()[0] > before[0]
    go_on.set()
    sender.join()
    assert found == [ErrorCode.NONE]
    assert held() == before


def test_records_are_validated_from_before_the_registry_is_opened() -> None:
    """``serve`` accepts clients first."""
    with Kafka() as kafka:
        kafka.create_topic("t", 1, configs=VALUES)

        def make(_: Any) -> Any:
            return SchemaRegistrySide(kafka.node, HttpOptions("127.0.0.1", 0, "a token of some length"), lambda: None)

        side = kafka._ask(make)
        assert produced(kafka, b"plain") == ErrorCode.INVALID_RECORD
        kafka._run(side.close())
        assert produced(kafka, b"plain") == ErrorCode.NONE


def test_settings_of_many_topics_are_looked_at_in_slices_and_hold_meanwhile() -> None:
    world = Counted()
    world.traced = False
    world.create(*(NewTopic(f"topic-{number}", 1, 1) for number in range(3000)))
    for number in range(3000):
        alter(world.controller, TOPIC_RESOURCE, f"topic-{number}", retention_ms="1000")
    alter(world.controller, TOPIC_RESOURCE, "topic-7", **{name.replace(".", "_"): "true" for name in VALUES})
    lifetimes = Lifetimes()
    lifetimes.begin(world.cluster)
    node: Any = SimpleNamespace(
        lifetimes=lifetimes,
        server=SimpleNamespace(dispatcher=world.dispatcher),
        validation_warnings=ValidationWarnings(lifetimes),
    )
    registry: Any = None  # no record is judged

    async def begin() -> SchemaValidation:
        return SchemaValidation(node, registry)

    world.traced = True
    with world.turn():
        found = asyncio.run(begin())
    assert world.dispatcher.places.fills(Place.VALIDATE)
    broker = world.cluster.brokers[1]
    assert len(world.cluster.runtime.slices) == 1
    assert found._wanted(broker, "topic-7") is not None
    for _ in range(20):
        world.run_turn()
    assert world.longest <= MOST
    assert len(world.cluster.runtime.slices) == 0
    assert list(found._topics) == ["topic-7"]
    alter(world.controller, TOPIC_RESOURCE, "topic-7", confluent_value_schema_validation="false")
    assert not world.dispatcher.places.fills(Place.VALIDATE)
