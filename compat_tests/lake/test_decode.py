"""Decodes archived values into columns, with each table format: schemas that evolve, and values that cannot be decoded."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from io import BytesIO
from typing import Any

import fastavro
import pytest

from compat_tests.lake.registry import Schemas, framed, serving
from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.cli.lake_decode import _chosen, _Job
from pykbroker.cli.output import Output
from pykbroker.client.errors import ClientError
from pykbroker.lake.description import Format
from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.decode import Decode, DecodeResult
from pykbroker.lake.values.decode_options import DecodeOptions, KeyFormat, NewColumns, ValueFormat
from pykbroker.lake.values.decode_progress import DecodeAccount
from pykbroker.lake.values.decoded_tables import DecodedTopic
from pykbroker.lake.values.registry import SchemaRegistry
from pykbroker.lake.values.schema_survey import Surveyor

NOON_MS = 1_357_041_600_000  # 2013-01-01T12:00Z


def job(workshop: Workshop, topic: str, way: DecodeOptions | None = None, registry: Schemas | None = None) -> Decode:
    decoded = DecodedTopic(workshop.lake, topic)
    if way is not None:
        decoded.keep_options(way)
    return Decode(decoded, Surveyor(SchemaRegistry(registry.url) if registry else None))


def decode(workshop: Workshop, topic: str, way: DecodeOptions | None = None, **options: Any) -> DecodeResult:
    return job(workshop, topic, way, **options).run(lambda _: None)


def values(workshop: Workshop, topic: str) -> list[dict[str, Any]]:
    """The decoded values, in order, without the record's own columns and without nulls."""
    rows = DecodedTopic(workshop.lake, topic).read().orderBy("kafka_partition", "kafka_offset").collect()
    return [
        {
            name: each
            for name, each in row.asDict(recursive=True).items()
            if not name.startswith("kafka_") and each is not None
        }
        for row in rows
    ]


def quarantined(workshop: Workshop, topic: str) -> list[tuple[int, bytes, str]]:
    rows = DecodedTopic(workshop.lake, topic).quarantine.read().orderBy("partition", "offset").collect()
    assert {row.topic for row in rows} <= {topic}
    return [(row.offset, bytes(row.value), row.error) for row in rows]


def as_json(*objects: Any) -> list[str]:
    return [each if isinstance(each, str) else json.dumps(each) for each in objects]


def test_json_is_inferred_then_fixed_and_grows(make: Callable[..., Workshop], topics: Topics, form: Format) -> None:
    topic = topics.create(2, retention_ms="-1")
    headers = [("a", b"1")]
    topics.send(topic, as_json({"n": 1, "who": "ä"}), 0, key=b"k", timestamps=[NOON_MS], headers=headers)
    topics.send(topic, as_json({"n": 2, "legs": [{"to": "JFK"}]}, "no JSON", {"n": None, "empty": {}}), 1)
    topics.send_raw(topic, b"gone", None)
    workshop = make(form)
    workshop.archive(topic)
    assert decode(workshop, topic, DecodeOptions(ValueFormat.JSON, key=KeyFormat.TEXT)) == DecodeResult(
        topic, 4, 1, ["legs", "n", "who"]
    )
    row = DecodedTopic(workshop.lake, topic).read().where("who = 'ä'").first()
    assert row.asDict(recursive=True) == {
        "kafka_partition": 0, "kafka_offset": 0, "kafka_timestamp": datetime(2013, 1, 1, 12), "kafka_key": "k",
        "kafka_headers": [{"key": "a", "value": bytearray(b"1")}], "kafka_tombstone": False,
        "legs": None, "n": 1, "who": "ä", "kafka_date": datetime(2013, 1, 1).date(),
    }  # fmt: skip
    assert quarantined(workshop, topic) == [
        (1, b"no JSON", "the value is no JSON: Expecting value: line 1 column 1 (char 0)")
    ]
    topics.send(topic, as_json({"n": "three"}, {"n": 4, "legs": [{"to": "EWR", "late": 1.5}], "new": True}), 0)
    workshop.archive(topic)
    assert decode(workshop, topic) == DecodeResult(topic, 1, 2, ["new"])
    assert values(workshop, topic) == [
        {"n": 1, "who": "ä"}, {}, {"n": 4, "legs": [{"to": "EWR", "late": 1.5}], "new": True},
        {"n": 2, "legs": [{"to": "JFK", "late": None}]}, {},
    ]  # fmt: skip
    assert "n: 'three' is no BIGINT" in [error for _, _, error in quarantined(workshop, topic)]
    assert decode(workshop, topic) == DecodeResult(topic, 0, 2, [])
    tombstones = DecodedTopic(workshop.lake, topic).read().where("kafka_tombstone").collect()
    assert [(row.kafka_key, row.kafka_offset) for row in tombstones] == [("gone", 1)]


def test_types_are_given_anew_where_the_first_batch_was_poisoned(make: Callable[..., Workshop], topics: Topics) -> None:
    """The first value has made the column text for good, so all others went to the quarantine."""
    topic = topics.create(retention_ms="-1")
    topics.send(topic, as_json({"delay": "none", "to": "JFK"}))
    workshop = make()
    workshop.archive(topic)
    assert decode(workshop, topic, DecodeOptions(ValueFormat.JSON)) == DecodeResult(topic, 1, 0, ["delay", "to"])
    topics.send(topic, as_json({"delay": 5, "to": "EWR"}, {"delay": 7, "late": True}))
    workshop.archive(topic)
    assert decode(workshop, topic) == DecodeResult(topic, 0, 2, [])
    decoded = DecodedTopic(workshop.lake, topic)
    wanted = decoded.options.followed_by(DecodeOptions(ValueFormat.JSON, columns={"delay": "BIGINT"}), topic)
    with pytest.raises(
        ClientError, match=r"has columns of other types: delay\. With --again, its tables are made anew"
    ):
        _chosen(workshop.lake, topic, wanted, again=False)
    (chosen,) = _chosen(workshop.lake, topic, wanted, again=True)
    again = _Job(str(workshop.path), Surveyor(), 1000, Output(as_json=True), lambda: False, again=True)
    assert again.outcome(chosen) == DecodeResult(topic, 2, 1, ["delay", "late"])
    assert values(workshop, topic) == [{"delay": 5, "to": "EWR"}, {"delay": 7, "late": True}]
    assert [error for _, _, error in quarantined(workshop, topic)] == ["delay: 'none' is no BIGINT"]


def test_the_quarantine_leaves_no_columns_behind(make: Callable[..., Workshop], topics: Topics) -> None:
    topic = topics.create(retention_ms="-1")
    good = {"n": 1, "s": {"x": 1}}
    topics.send(topic, as_json(good), key=b"k")
    topics.send(topic, as_json({"n": 2, "bad": 1, "s": {"x": 2, "worse": 3}, "worst": {"deep": 4}}), key=b"\xff")
    workshop = make()
    workshop.archive(topic)
    assert decode(workshop, topic, DecodeOptions(ValueFormat.JSON, key=KeyFormat.TEXT)) == DecodeResult(
        topic, 1, 1, ["n", "s"]
    )
    assert DecodedTopic(workshop.lake, topic).account().columns == {"n": "BIGINT", "s": {"struct": {"x": "BIGINT"}}}
    topics.send(topic, as_json({"n": "two", "bad": 1}, {"n": 3, "bad": 2, "n2": None}))
    workshop.archive(topic)
    assert decode(workshop, topic) == DecodeResult(topic, 1, 2, ["bad"])
    assert values(workshop, topic) == [good, {"n": 3, "bad": 2}]


def avro(schema: dict[str, Any], value: Any) -> bytes:
    data = BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(schema), value)
    return data.getvalue()


def record(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Flight", "fields": [{"name": name, "type": each} for name, each in fields]}


def test_avro_of_a_registry_is_decoded_again_when_the_schema_is_known(
    make: Callable[..., Workshop], topics: Topics
) -> None:
    old, new = record(("n", "int")), record(("n", "long"), ("to", ["null", "string"]))
    with serving() as registry:
        registry.by_id[7] = {"schema": json.dumps(old)}
        topic = topics.create()
        for value in (framed(7, avro(old, {"n": 1})), framed(8, avro(new, {"n": 2, "to": "JFK"})), b"{}"):
            topics.send_raw(topic, None, value)
        workshop = make()
        workshop.archive(topic)
        with pytest.raises(LakeError, match=r"has values with the schema id 7: name their registry with --registry"):
            decode(workshop, topic, DecodeOptions(ValueFormat.AVRO))
        assert decode(workshop, topic, registry=registry) == DecodeResult(topic, 1, 2, ["n"])
        assert [error for _, _, error in quarantined(workshop, topic)] == [
            "the registry has no schema 8",
            "the value does not begin with a zero byte and the id of a schema, as a registry's serializer writes it",
        ]
        registry.by_id[8] = {"schema": json.dumps(new)}
        assert job(workshop, topic, registry=registry).run_again() == DecodeResult(topic, 1, 1, ["to"])
        assert registry.requested == ["/schemas/ids/7", "/schemas/ids/8", "/schemas/ids/8"]
    assert values(workshop, topic) == [{"n": 1}, {"n": 2, "to": "JFK"}]
    assert [offset for offset, _, _ in quarantined(workshop, topic)] == [2]


def test_a_fault_of_the_registry_quarantines_nothing(make: Callable[..., Workshop], topics: Topics) -> None:
    """One that passes is not noticed. With one that stays the job ends, and the next run goes on."""
    schema = record(("n", "int"))
    topic = topics.create()
    with serving() as registry:
        registry.by_id |= {7: {"schema": json.dumps(schema)}, 8: {"schema": json.dumps(schema)}}
        pauses: list[float] = []
        surveyor = Surveyor(SchemaRegistry(registry.url, pause=pauses.append))
        workshop = make()
        DecodedTopic(workshop.lake, topic).keep_options(DecodeOptions(ValueFormat.AVRO))
        for number, faults in ((7, [503, 429, 404, 500, 503, 503, 503, 503, 503]), (8, [])):
            topics.send_raw(topic, None, framed(number, avro(schema, {"n": number})))
            workshop.archive(topic)
            registry.faults = faults
            while registry.faults:
                with pytest.raises(LakeError, match=rf"answered (404|503) to schemas/ids/{number}: "):
                    Decode(DecodedTopic(workshop.lake, topic), surveyor).run(lambda _: None)
                assert DecodedTopic(workshop.lake, topic).account() == DecodeAccount()
            assert Decode(DecodedTopic(workshop.lake, topic), surveyor).run(lambda _: None).quarantined == 0
        assert len(pauses) == 2 + 5
    assert values(workshop, topic) == [{"n": 7}, {"n": 8}]


def test_what_a_kill_left_is_finished_and_nothing_is_there_twice(
    make: Callable[..., Workshop], topics: Topics, long_form: Format
) -> None:
    """As after a kill between the tables' commits and the ledger: first for a batch, then for one that decodes the quarantine again."""
    topic = topics.create()
    topics.send(topic, as_json({"n": 1}, {"n": "x"}, {"n": 3}))
    workshop = make(long_form)
    workshop.archive(topic)
    way = DecodeOptions(ValueFormat.JSON, columns={"n": "BIGINT"})
    for run in (lambda: decode(workshop, topic, way), lambda: job(workshop, topic).run_again()):
        run()
        before = values(workshop, topic), quarantined(workshop, topic), DecodedTopic(workshop.lake, topic).account()
        DecodedTopic(workshop.lake, topic).folder.delete(f"ledger/{before[2].batch:012d}.json")
        decode(workshop, topic)
        account = DecodedTopic(workshop.lake, topic).account()
        assert (values(workshop, topic), quarantined(workshop, topic), account.partitions) == (
            *before[:2],
            before[2].partitions,
        )
    assert values(workshop, topic) == [{"n": 1}, {"n": 3}]


def test_fields_without_a_column_are_refused_or_left_out(make: Callable[..., Workshop], topics: Topics) -> None:
    topic = topics.create()
    topics.send(topic, as_json({"n": 1, "at": "2013-01-01T12:00:00Z"}, {"n": 2, "more": 1}))
    workshop = make()
    workshop.archive(topic)
    columns = {"n": "INT", "at": "TIMESTAMP"}
    way = DecodeOptions(ValueFormat.JSON, columns=columns, new_columns=NewColumns.QUARANTINE)
    assert decode(workshop, topic, way) == DecodeResult(topic, 1, 1, ["n", "at"])
    assert quarantined(workshop, topic)[0][2] == "more: it has no column, and new ones are not to be added"
    ignoring = DecodeOptions(ValueFormat.JSON, columns=columns, new_columns=NewColumns.IGNORE)
    assert job(workshop, topic, ignoring).run_again() == DecodeResult(topic, 1, 0, [])
    assert values(workshop, topic) == [{"n": 1, "at": datetime(2013, 1, 1, 12)}, {"n": 2}]
    assert quarantined(workshop, topic) == []
