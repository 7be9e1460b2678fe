"""Every message in every version, both ways, against the bytes of Kafka's own serialisers."""

from __future__ import annotations

import random

import pytest

from pykbroker.tests.kit.depth import of_depths
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.headers import RequestHeader, decode_request_header, encode_request_header
from pykbroker.wire.tests.kafka_messages import (
    Sample,
    all_versions,
    assert_says,
    build,
    encoded,
    kafka_apis,
    message_class,
    plain_name,
    read_by_kafka,
    written_by_kafka,
)

#: Messages of each kind and version.
SAMPLES = of_depths(2, 6, 6)


@pytest.fixture(scope="module")
def golden() -> list[Sample]:
    return written_by_kafka(all_versions(), seed=20250601, samples=SAMPLES)


def test_we_read_what_kafka_writes(golden: list[Sample]) -> None:
    assert len(golden) == SAMPLES * len(all_versions())
    for sample in golden:
        message, pos = message_class(sample.name).decode(sample.data, 0, sample.version)
        assert pos == len(sample.data), plain_name(sample)
        assert_says(message, sample.content, plain_name(sample))


def test_we_write_it_again_as_kafka_did(golden: list[Sample]) -> None:
    for sample in golden:
        message, _ = message_class(sample.name).decode(memoryview(sample.data), 0, sample.version)
        assert encoded(message, sample.version) == sample.data, plain_name(sample)


def test_kafka_reads_what_we_write() -> None:
    source = random.Random(431)
    messages = [
        (name, version, build(name, version, source)) for name, version in all_versions() for _ in range(SAMPLES)
    ]
    ours = [(name, version, encoded(message, version)) for name, version, message in messages]
    for (_, _, message), (_, _, data), kafka in zip(messages, ours, read_by_kafka(ours), strict=True):
        assert kafka.data == data, plain_name(kafka)
        assert_says(message, kafka.content, plain_name(kafka))


@pytest.mark.deep
def test_api_table_is_kafkas() -> None:
    rows = kafka_apis()
    assert [(key.value, key.name) for key in ApiKey] == [(int(row[0]), row[1]) for row in rows]
    listed = {int(key): rest for key, *rest in rows if rest[2:4] != ["0", "-1"]}
    assert APIS.keys() == listed.keys()
    for key, (_, name, low, high, unstable, listeners, headers) in listed.items():
        api = APIS[key]
        assert (api.key, api.name) == (key, name)
        assert (api.min_version, api.max_version) == (int(low), int(high))
        assert api.latest_unstable == (unstable == "true")
        assert sorted(api.listeners) == sorted(listeners.lower().strip("[]").split(", "))
        versions = range(api.min_version, api.max_version + 1)
        ours = [f"{api.request_header_version(v)}:{api.response_header_version(v)}" for v in versions]
        assert ours == headers.split(","), name


@pytest.mark.deep
def test_kafka_reads_our_request_headers() -> None:
    names = (None, "", "client-é")
    asked = [
        (api, version, name)
        for api in APIS.values()
        for version in (api.min_version, api.max_version)
        for name in names
    ]
    lines = []
    for api, version, client_id in asked:
        out = bytearray()
        encode_request_header(out, RequestHeader(api.key, version, -7, client_id))
        header, pos = decode_request_header(bytes(out), 0)
        assert (header, pos) == (RequestHeader(api.key, version, -7, client_id), len(out))
        lines.append(("RequestHeader", api.request_header_version(version), bytes(out)))
    for (api, version, client_id), sample in zip(asked, read_by_kafka(lines), strict=True):
        wanted = {"requestApiKey": api.key, "requestApiVersion": version, "correlationId": -7, "clientId": client_id}
        assert sample.content == wanted
