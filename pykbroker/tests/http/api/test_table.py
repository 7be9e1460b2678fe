"""Route by route: each does what it says, and is answered in the form that the description has."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from pykbroker.http.api.table import ROUTES
from pykbroker.tests.http.http_client import Asked, WithHttp, with_http


class Described:
    """Asks, and compares each answer with the description; ``asked`` has the operations that were."""

    def __init__(self, http: WithHttp) -> None:
        self.http = http
        self.document = http.ask("/api/v1/openapi.json").json
        self.asked: set[str] = set()

    def __call__(
        self, method: str, path: str, body: object = None, *, status: int = 200, kind: str = "application/json"
    ) -> Any:
        """``body`` is an object that is sent as JSON, or text of another kind. Returns an object, or text of another kind."""
        raw = body if isinstance(body, str) else None if body is None else json.dumps(body)
        answer = self.http.ask(
            f"/api/v1{path}", method=method, body=raw and raw.encode(), headers={"Content-Type": kind}
        )
        assert answer.status == status, answer.text
        operation = self._operation(method, path.partition("?")[0])
        found = self._checked(answer, operation["responses"][str(status)])
        if status == 200:
            self.asked.add(operation["operationId"])
            if body is not None:
                self._valid(body, operation["requestBody"]["content"][kind]["schema"])
        return found

    def _operation(self, method: str, path: str) -> dict[str, Any]:
        (route,) = [each for each in ROUTES if each.method == method and each.words(path) is not None]
        found: dict[str, Any] = self.document["paths"][route.path][method.lower()]
        return found

    def _checked(self, answer: Asked, response: dict[str, Any]) -> Any:
        kind = answer.headers["Content-Type"].partition(";")[0]
        schema = response["content"][kind]["schema"]
        found = answer.json if kind.endswith("json") else answer.text
        self._valid(found, self.document["components"]["schemas"]["Problem"] if "$ref" in schema else schema)
        return found

    @staticmethod
    def _valid(value: object, schema: dict[str, Any]) -> None:
        Draft202012Validator(schema).validate(value)


@pytest.fixture(scope="module")
def manual() -> Iterator[Described]:
    with with_http(brokers=2, clock="manual") as http:
        yield Described(http)


@pytest.mark.deep
def test_the_description_is_openapi(manual: Described) -> None:
    validate(manual.document)
    operations = [each["operationId"] for path in manual.document["paths"].values() for each in path.values()]
    assert sorted(operations) == sorted(route.name for route in ROUTES)


def test_faults(manual: Described) -> None:
    ask = manual
    added = ask("POST", "/faults", {"api": "CreateTopics", "error": "TOPIC_AUTHORIZATION_FAILED", "delay": "1ms"})
    assert added["text"] == "CreateTopics delay=1ms error=TOPIC_AUTHORIZATION_FAILED"
    assert (
        ask("POST", "/faults", {"text": "Produce topic=t error=NOT_LEADER_OR_FOLLOWER times=2"})["fault"]["times"] == 2
    )
    assert [each["number"] for each in ask("GET", "/faults")["faults"]] == [added["number"], added["number"] + 1]
    assert len(ask.http.kafka.node.faults.book.rules) == 2
    assert ask("GET", f"/faults/{added['number']}")["matched"] == 0
    assert ask("DELETE", f"/faults/{added['number']}")["number"] == added["number"]
    assert len(ask("DELETE", "/faults")["faults"]) == 1
    assert ask("GET", "/faults") == {"faults": []}
    ask("GET", "/faults/7", status=404)
    ask("DELETE", "/faults/7", status=404)
    for wrong in (
        {"api": "Produce"},
        {"api": "Prodduce", "drop": True},
        {"text": "x'"},
        {"text": "* drop", "nth": 1},
        {"text": 1},
        {"api": "Produce", "broker": 9, "drop": True},
    ):
        assert ask("POST", "/faults", wrong, status=400)["title"]


def test_a_fault_acts_on_clients(manual: Described) -> None:
    kafka = manual.http.kafka
    kafka.create_topic("unlucky")
    number = manual("POST", "/faults", {"api": "Produce", "topic": "unlucky", "error": "MESSAGE_TOO_LARGE"})["number"]
    errors: list[object] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce("unlucky", b"x", on_delivery=lambda error, _: errors.append(error and error.name()))
    producer.flush(20)
    assert errors == ["MSG_SIZE_TOO_LARGE"]
    assert manual("GET", f"/faults/{number}")["fired"] == 1
    requests = manual("GET", "/requests?api=Produce&topic=unlucky&limit=5")
    assert requests["recording"] is True
    assert [each["error_codes"] for each in requests["requests"]] == [["MESSAGE_TOO_LARGE"]]
    assert (
        manual("GET", "/requests?limit=0")["requests"] == manual("GET", "/requests?client_id=nobody")["requests"] == []
    )
    manual("GET", "/requests?api=Prodduce", status=400)
    manual("GET", "/requests?limit=many", status=400)
    manual("DELETE", "/faults")
    manual("DELETE", "/requests")
    assert kafka.requests("Produce") == []


def test_chaos(manual: Described) -> None:
    assert manual("GET", "/chaos") == {"chaos": None, "befell": 0, "tape": []}
    begun = manual("PUT", "/chaos", {"text": "7 profile=elections"})
    assert begun["chaos"] == "7 profile=elections intensity=1"
    assert manual("DELETE", "/chaos")["chaos"] == begun["chaos"]
    assert manual("PUT", "/chaos", {"tape": begun["tape"]})["chaos"] == begun["chaos"]
    manual("DELETE", "/chaos")
    for wrong in ({"text": "7 profile=none"}, {"tape": ["7"]}, {"tape": [7]}, {}):
        manual("PUT", "/chaos", wrong, status=400)


def test_brokers(manual: Described) -> None:
    states = lambda answer: [each["state"] for each in answer["brokers"]]  # noqa: E731
    assert states(manual("GET", "/brokers")) == ["running", "running"]
    assert states(manual("POST", "/brokers/2/stop")) == ["running", "stopped"]
    manual("POST", "/brokers/2/stop", status=409)
    assert states(manual("POST", "/brokers/2/start")) == ["running", "running"]
    assert states(manual("POST", "/brokers/2/kill")) == ["running", "stopped"]
    manual("POST", "/brokers/2/start")
    manual("POST", "/brokers/9/start", status=409)
    manual("POST", "/brokers/-1/start", status=400)


def test_the_clock(manual: Described) -> None:
    before = manual("GET", "/clock")
    assert before["kind"] == "manual"
    after = manual("POST", "/clock/advance", {"by": "2h"})
    assert after["now_ms"] - before["now_ms"] == 2 * 3_600_000
    for wrong in ({"by": "soon"}, {}, {"by": 5}, {"by": "999999999999d"}, {"bye": "5s"}):
        manual("POST", "/clock/advance", wrong, status=400)


def test_reset_and_snapshots(manual: Described) -> None:
    kafka = manual.http.kafka
    manual("POST", "/reset")
    kafka.create_topic("kept")
    assert manual("PUT", "/snapshots/one%2F..%2Ftwo") == {"snapshots": ["one/../two"]}
    manual("POST", "/faults", {"api": "*", "drop": True, "client": "nobody"})
    manual("POST", "/reset", {})
    assert kafka.topics() == {}
    assert manual("GET", "/faults") == {"faults": []}
    manual("POST", "/snapshots/one%2F..%2Ftwo/restore")
    assert kafka.topics() == {"kept": 1}
    assert manual("GET", "/snapshots") == {"snapshots": ["one/../two"]}
    manual("POST", "/snapshots/three/restore", status=404)
    manual("PUT", f"/snapshots/{'x' * 201}", status=400)
    manual("PUT", "/snapshots/%00", status=400)


def test_seeds(manual: Described) -> None:
    manual("POST", "/reset")
    seed = {"topics": {"orders": {"partitions": 2, "records": [{"key": "k", "value": "v", "timestamp": 5}]}}}
    assert manual("POST", "/seeds", seed) == {"topics": 1, "records": 1}
    assert [record.key for record in manual.http.kafka.records("orders")] == [b"k"]
    assert manual("GET", "/seeds?form=json")["topics"]["orders"]["records"][0]["timestamp"] == 5
    line = '{"value": "w", "partition": 0, "timestamp": 6}\n'
    assert manual("POST", "/seeds?topic=orders", line, kind="application/jsonl") == {"topics": 0, "records": 1}
    assert "orders,0,6,\\N,,w,," in manual("GET", "/seeds?topics=orders&form=csv")
    manual("POST", "/seeds", "", status=400)
    manual("POST", "/seeds", {"topics": {"orders": {"partitions": 7}}}, status=409)
    manual("POST", "/seeds", "value\nx", kind="text/plain", status=415)
    manual("GET", "/seeds?form=xml", status=400)
    manual("GET", "/seeds?topics=orders,nothing", status=404)


def test_a_tests_broker_notes_requests_always(manual: Described) -> None:
    assert manual("PUT", "/requests/recording", {"on": True}) == {"recording": True}
    manual("PUT", "/requests/recording", {"on": False}, status=409)
    manual("PUT", "/requests/recording", {"on": "yes"}, status=400)


def test_levels_of_loggers(manual: Described) -> None:
    name = "pykbroker.tests.http.levels"
    logger = logging.getLogger(name)
    levels = manual("GET", "/loggers")["loggers"]
    assert levels[name] != "TRACE"
    try:
        assert manual("PUT", f"/loggers/{name}", {"level": "TRACE"})["loggers"] == {**levels, name: "TRACE"}
        assert logger.level == 5
        assert manual("PUT", f"/loggers/{name}", {"level": None})["loggers"] == levels
        for wrong in ({"level": "LOUD"}, {"level": 5}, {}):
            assert manual("PUT", f"/loggers/{name}", wrong, status=400)["title"]
        manual("PUT", "/loggers/root", {"level": None}, status=400)
        manual("PUT", "/loggers/no.such.logger", {"level": "INFO"}, status=404)
    finally:
        logger.setLevel(logging.NOTSET)


def test_the_page_has_every_route() -> None:
    page = (Path(__file__).parents[4] / "docs" / "http-api.md").read_text()
    rows = re.findall(r"^\| `(\w+) (\S+)` \| (.*) \|$", page, re.MULTILINE)
    assert rows == [(route.method, route.path, route.meaning) for route in ROUTES]


def test_every_route_was_asked(manual: Described) -> None:
    """The last of this file."""
    assert manual.asked == {route.name for route in ROUTES}
