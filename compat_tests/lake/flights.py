"""The flights that left New York in 2013, each with the weather at its airport in that hour, as JSON and as Avro."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple

import fastavro
from confluent_kafka import Producer

from compat_tests.lake.registry import framed
from compat_tests.spark.topics import Topics
from scripts.demo_job.data import Row, epoch_ms, rows

JSON, AVRO = "flights-json", "flights-avro"
PARTITIONS = 4
SCHEMA_NUMBER = 7
_TEXTS = ("carrier", "tailnum", "origin", "dest", "time_hour")
_WHOLE = (
    "year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time", "arr_delay",
    "flight", "air_time", "distance", "hour", "minute",
)  # fmt: skip
_WEATHER = ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib")
SCHEMA = {
    "type": "record",
    "name": "Flight",
    "fields": [
        {"name": name, "type": ["null", kind]}
        for names, kind in ((_TEXTS, "string"), (_WHOLE, "long"), (_WEATHER, "double"))
        for name in names
    ],
}


class Published(NamedTuple):
    """The expected numbers, computed from the files alone."""

    flights: int
    departed: int
    delay_minutes: int
    with_temperature: int


def flights(count: int) -> Iterator[dict[str, Any]]:
    """The first ``count`` flights of the year."""
    weather = {(row["origin"], row["time_hour"]): row for row in rows("weather")}
    for row in islice(rows("flights"), count):
        yield _joined(row, weather.get((row["origin"], row["time_hour"]), {}))


def publish(bootstrap: str, count: int) -> Published:
    """Send each flight to both topics, keyed by tail number, with the scheduled departure as timestamp."""
    topics = Topics(bootstrap)
    for name in (JSON, AVRO):
        topics.create(PARTITIONS, name=name, retention_ms="-1")
    schema = fastavro.parse_schema(SCHEMA)
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "compression.type": "lz4"})
    known = Published(0, 0, 0, 0)
    for flight in flights(count):
        time_ms = epoch_ms(flight["time_hour"]) + flight["minute"] * 60_000
        for topic, value in ((JSON, json.dumps(flight).encode()), (AVRO, _avro(schema, flight))):
            _send(producer, topic, value, flight["tailnum"], time_ms)
        known = _and(known, flight)
    assert producer.flush(60) == 0
    return known


def _send(producer: Producer, *record: Any) -> None:
    while True:
        try:
            topic, value, key, time_ms = record
            producer.produce(topic, value, key, timestamp=time_ms)
            return
        except BufferError:  # librdkafka's queue is full
            producer.poll(0.1)


def _joined(flight: Row, weather: Row) -> dict[str, Any]:
    return {
        **{name: flight[name] for name in _TEXTS},
        **{name: _number(int, flight[name]) for name in _WHOLE},
        **{name: _number(float, weather.get(name)) for name in _WEATHER},
    }


def _number(kind: type, text: str | None) -> Any:
    return None if text is None else kind(text)


def _avro(schema: Any, flight: dict[str, Any]) -> bytes:
    data = BytesIO()
    fastavro.schemaless_writer(data, schema, flight)
    return framed(SCHEMA_NUMBER, data.getvalue())


def _and(known: Published, flight: dict[str, Any]) -> Published:
    delay = flight["dep_delay"]
    return Published(
        known.flights + 1,
        known.departed + (delay is not None),
        known.delay_minutes + (delay or 0),
        known.with_temperature + (flight["temp"] is not None),
    )
