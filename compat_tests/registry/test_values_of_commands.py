"""``produce --value-schema`` and ``consume --decode`` beside Confluent's serializers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from pykbroker.testing import Kafka

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
CONTEXT = SerializationContext("orders", MessageField.VALUE)


def pykbroker(
    kafka: Kafka, *words: str, given: str = "", registry: str | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pykbroker", words[0], "-b", kafka.bootstrap_servers, *words[1:]]
    command += ["--registry", registry or kafka.schema_registry_url]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


def test_lines_are_written_by_a_schema_and_read_by_it(kafka: Kafka) -> None:
    plain = {**ORDER, "fields": ORDER["fields"][:2]}  # type: ignore[index] # a list
    kafka.schemas.register("orders-value", plain)
    lines = '{"id": 1, "note": "tea"}\n{"id": 2, "note": null}\n'
    done = pykbroker(kafka, "produce", "orders", "--value-schema", "orders-value", given=lines)
    assert (done.returncode, done.stderr) == (0, "2 records written to orders.\n")
    with SchemaRegistryClient({"url": kafka.schema_registry_url}) as client:
        read = [AvroDeserializer(client)(record.value, CONTEXT) for record in kafka.records("orders")]
    assert read == [{"id": 1, "note": "tea"}, {"id": 2, "note": None}]
    kafka.produce("orders", None, key="gone")
    done = pykbroker(kafka, "consume", "orders", "--decode", "--exit")
    assert (done.stdout, done.returncode) == (f"{lines}null\n", 0), done.stderr
    done = pykbroker(kafka, "consume", "orders", "--decode", "--exit", "--json", "--max", "1")
    assert json.loads(json.loads(done.stdout)["value"]) == {"id": 1, "note": "tea"}


def test_what_json_lacks_is_text(kafka: Kafka) -> None:
    kafka.schemas.register("orders-value", ORDER)
    kafka.produce("orders", b"\0\0\0\0\1\2\0\0")
    done = pykbroker(kafka, "consume", "orders", "--decode", "--exit")
    assert json.loads(done.stdout) == {"id": 1, "note": None, "at": "1970-01-01T00:00:00+00:00"}, done.stderr


def test_protobuf_and_json(kafka: Kafka) -> None:
    kafka.schemas.register("a-value", 'syntax = "proto3"; message Paid { int64 id = 1; }', "PROTOBUF")
    kafka.schemas.register("a-value-2", '{"type": "object"}', "JSON")
    for subject in ("a-value:1", "a-value-2:latest"):
        done = pykbroker(kafka, "produce", "a", "--value-schema", subject, given='{"id": 3}\n')
        assert done.returncode == 0, done.stderr
    assert [record.value for record in kafka.records("a")] == [b"\0\0\0\0\1\0\x08\x03", b'\0\0\0\0\2{"id": 3}']
    assert pykbroker(kafka, "consume", "a", "--decode", "--exit").stdout == '{"id": 3}\n' * 2


def test_what_does_not_fit_is_said_and_not_written(kafka: Kafka) -> None:
    kafka.schemas.register("orders-value", ORDER)
    for line in ('{"id": "seven"}', "no json", "[" * 100_000):
        done = pykbroker(kafka, "produce", "orders", "--value-schema", "orders-value", given=f"{line}\n")
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
    assert "not of its Avro schema" in pykbroker(
        kafka, "produce", "orders", "--value-schema", "orders-value", given='{"id": "seven"}\n'
    ).stderr  # fmt: skip
    assert kafka.records("orders") == []
    done = pykbroker(kafka, "produce", "orders", "--value-schema", "nope", given="{}\n")
    assert (done.returncode, "40401" in done.stderr) == (1, True)
    kafka.produce("orders", b"plain\x1b[2J")
    done = pykbroker(kafka, "consume", "orders", "--decode", "--exit")
    assert done.returncode == 1
    assert "orders-0, offset 0: the value does not begin with a zero byte" in done.stderr


class Other(BaseHTTPRequestHandler):
    """Something else than a registry."""

    def do_GET(self) -> None:
        body = self.server.body  # type: ignore[attr-defined] # of the test
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.mark.parametrize("body", [b"[]", b"{}", b"<html>", b'{"id": "1"}', b'{"schema": 5}', b"null"])
def test_what_is_no_registry_is_said(kafka: Kafka, body: bytes) -> None:
    kafka.produce("orders", b"\0\0\0\0\1{}")
    with HTTPServer(("127.0.0.1", 0), Other) as server:
        server.body = body  # type: ignore[attr-defined] # for the handler
        threading.Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}"
        try:
            for words in (["consume", "orders", "--decode", "--exit"], ["produce", "orders", "--value-schema", "a"]):
                done = pykbroker(kafka, *words, given="{}\n", registry=url)
                assert done.returncode == 1
                assert "This is no answer of a schema registry" in done.stderr, done.stderr
        finally:
            server.shutdown()


def test_references_in_a_circle_end(kafka: Kafka) -> None:
    kafka.produce("orders", b"\0\0\0\0\1{}")
    with HTTPServer(("127.0.0.1", 0), Other) as server:
        again = {"name": "a", "subject": "a", "version": 1}
        server.body = json.dumps({"schema": "{}", "references": [again]}).encode()  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever).start()
        try:
            done = pykbroker(
                kafka, "consume", "orders", "--decode", "--exit", registry=f"http://127.0.0.1:{server.server_port}"
            )
            assert (done.returncode, "more than 50 deep" in done.stderr) == (1, True), done.stderr
        finally:
            server.shutdown()
