"""Records whose schema id is not known under their subject are refused, each with its reason; others of the request are written."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from pykbroker.registry.validation import RECORD_NAME, TOPIC_RECORD_NAME
from pykbroker.requests.pipeline import Place
from pykbroker.testing import Kafka

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'


def framed(number: int, content: bytes = b"\x02") -> bytes:
    return b"\0" + number.to_bytes(4, "big") + content


def create(kafka: Kafka, topic: str, **configs: str) -> None:
    client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    made = NewTopic(topic, 1, config={name.replace("_", "."): value for name, value in configs.items()})
    for future in client.create_topics([made]).values():
        future.result()


def produced(kafka: Kafka, *records: tuple[str, bytes | None, bytes | None], **settings: Any) -> list[str | None]:
    """What becomes of records that are sent in one request: None, or the error's name."""
    outcomes: dict[int, str | None] = {}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 50, **settings})
    for number, (topic, key, value) in enumerate(records):

        def note(error: KafkaError | None, _: Any, number: int = number) -> None:
            outcomes[number] = None if error is None else error.name()

        producer.produce(topic, value, key, on_delivery=note)
    assert producer.flush(30) == 0
    return [outcomes[number] for number in range(len(records))]


def is_in_place(kafka: Kafka) -> bool:
    return bool(kafka._ask(lambda _: kafka.node.server.dispatcher.places.fills(Place.VALIDATE)))


def test_values_without_a_known_id_are_refused(kafka: Kafka) -> None:
    create(kafka, "orders", confluent_value_schema_validation="true")
    known = kafka.schemas.register("orders-value", ORDER)
    other = kafka.schemas.register("others-value", '"string"')
    for value in (b"plain", b"", b"\0\0\0", framed(known)[1:], framed(other), framed(99)):
        assert produced(kafka, ("orders", b"k", value)) == ["INVALID_RECORD"]
    assert produced(kafka, ("orders", b"plain", framed(known)), ("orders", b"k", None)) == [None, None]
    assert [each.value for each in kafka.records("orders")] == [framed(known), None]


def test_the_answer_names_the_records(kafka: Kafka) -> None:
    create(kafka, "orders", confluent_value_schema_validation="true")
    known = kafka.schemas.register("orders-value", ORDER)
    records = [("orders", None, framed(known)), ("orders", None, b"x"), ("orders", None, framed(7))]
    assert set(produced(kafka, *records)) == {"_INVALID_DIFFERENT_RECORD", "INVALID_RECORD"}
    (request,) = kafka.requests("Produce")
    answer = request.response.responses[0].partition_responses[0]  # type: ignore[union-attr] # of this API
    assert answer.error_code == 87
    assert answer.error_message.startswith("One or more records have been rejected due to 2 record errors in total")
    assert [(each.batch_index, each.batch_index_error_message) for each in answer.record_errors] == [
        (1, "This record has failed the validation on broker and hence will be rejected: its value has no schema id"),
        (
            2,
            (
                "This record has failed the validation on broker and hence will be rejected: the schema 7 of its value is not "
                "registered under orders-value"
            ),
        ),
    ]
    assert kafka.records("orders") == []


def test_other_topics_of_the_request_are_written(kafka: Kafka) -> None:
    create(kafka, "orders", confluent_value_schema_validation="true")
    create(kafka, "free")
    assert produced(kafka, ("orders", None, b"x"), ("free", None, b"y")) == ["INVALID_RECORD", None]
    assert produced(kafka, ("free", None, b"y"), ("orders", None, b"x")) == [None, "INVALID_RECORD"]
    assert len(kafka.records("free")) == 2


def test_keys_and_what_is_set_later(kafka: Kafka) -> None:
    create(kafka, "orders")
    assert not is_in_place(kafka)
    client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})

    def alter(value: str) -> None:
        entry = ConfigEntry("confluent.key.schema.validation", value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, "orders", incremental_configs=[entry])
        for future in client.incremental_alter_configs([resource]).values():
            future.result()

    alter("true")
    assert is_in_place(kafka)
    known = kafka.schemas.register("orders-key", '"string"')
    assert produced(kafka, ("orders", b"k", b"v")) == ["INVALID_RECORD"]
    assert produced(kafka, ("orders", framed(known), b"v"), ("orders", None, b"v")) == [None, None]
    alter("false")
    assert not is_in_place(kafka)
    assert produced(kafka, ("orders", b"k", b"v")) == [None]


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("size", [10, 20_000])
def test_large_and_compressed_batches_are_read_in_a_thread(kafka: Kafka, codec: str, size: int) -> None:
    create(kafka, "orders", confluent_value_schema_validation="true")
    known = kafka.schemas.register("orders-value", ORDER)
    good, bad = framed(known, b"x" * size), b"x" * size
    assert produced(kafka, ("orders", None, good), **{"compression.type": codec}) == [None]
    assert produced(kafka, ("orders", None, bad), **{"compression.type": codec}) == ["INVALID_RECORD"]
    assert [each.value for each in kafka.records("orders")] == [good]


def test_requests_of_a_connection_keep_their_order(kafka: Kafka) -> None:
    """One that is read in a thread is not overtaken by the next, which is read at once."""
    create(kafka, "orders", confluent_value_schema_validation="true")
    known = kafka.schemas.register("orders-value", ORDER)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 0, "max.in.flight": 5})
    sent = [framed(known, bytes([number]) * (20_000 if number % 2 == 0 else 1)) for number in range(20)]
    for value in sent:
        producer.produce("orders", value, partition=0)
        producer.poll(0.001)
    assert producer.flush(30) == 0
    assert [each.value for each in kafka.records("orders")] == sent


def test_strategies_of_names(kafka: Kafka) -> None:
    strategy = "confluent_value_subject_name_strategy"
    create(kafka, "by-record", confluent_value_schema_validation="true", **{strategy: RECORD_NAME})
    create(kafka, "by-both", confluent_value_schema_validation="true", **{strategy: TOPIC_RECORD_NAME})
    schemas = kafka.schemas
    orders = framed(schemas.register("shop.Order", ORDER))
    wrong = framed(schemas.register("shop.Other", ORDER.replace("Order", "Third")))
    proto = 'syntax = "proto3"; package shop; message Paid { message Part { int32 a = 1; } Part p = 1; }'
    paid = framed(schemas.register("shop.Paid", proto, "PROTOBUF"), b"\0")
    json = framed(schemas.register("Sent", {"title": "Sent", "type": "object"}, "JSON"), b"{}")
    for value in (orders, paid, json):
        assert produced(kafka, ("by-record", None, value)) == [None]
        assert produced(kafka, ("by-both", None, value)) == ["INVALID_RECORD"]
    assert produced(kafka, ("by-record", None, wrong)) == ["INVALID_RECORD"]
    assert schemas.register("by-both-shop.Order", ORDER) == int.from_bytes(orders[1:5], "big")
    assert produced(kafka, ("by-both", None, orders)) == [None]


def test_a_strategy_has_to_be_known(kafka: Kafka) -> None:
    with pytest.raises(KafkaException, match="INVALID_CONFIG"):
        create(kafka, "orders", confluent_value_subject_name_strategy="com.acme.Mine")


def test_deleted_schemas_and_resets(kafka: Kafka) -> None:
    from pykbroker.client.registry_client import RegistryClient

    create(kafka, "orders", confluent_value_schema_validation="true")
    known = framed(kafka.schemas.register("orders-value", ORDER))
    assert produced(kafka, ("orders", None, known)) == [None]
    kafka.snapshot("registered")
    RegistryClient(kafka.schema_registry_url, 30).ask("DELETE", "/subjects/orders-value")
    assert produced(kafka, ("orders", None, known)) == ["INVALID_RECORD"]
    kafka.restore("registered")
    assert produced(kafka, ("orders", None, known)) == [None]
    kafka.reset()
    assert not is_in_place(kafka)


def test_a_transaction_and_acks_0(kafka: Kafka) -> None:
    create(kafka, "orders", confluent_value_schema_validation="true")
    known = framed(kafka.schemas.register("orders-value", ORDER))
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "t"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("orders", known)
    producer.commit_transaction(30)
    producer.begin_transaction()
    producer.produce("orders", b"x")
    with pytest.raises(KafkaException):
        producer.commit_transaction(30)
    producer.abort_transaction(30)
    assert [each.value for each in kafka.records("orders")] == [known]
    produced(kafka, ("orders", None, b"x"), acks=0)
    assert any(
        "acks=0 to orders-0 failed with INVALID_RECORD" in (each.closed or "") for each in kafka.requests("Produce")
    )


def test_without_a_registry_nothing_is_validated() -> None:
    with Kafka() as kafka:
        create(kafka, "orders", confluent_value_schema_validation="true")
        assert produced(kafka, ("orders", None, b"x")) == [None]
        assert not is_in_place(kafka)
