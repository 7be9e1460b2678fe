"""Faults and the log of requests to the schema registry."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("avro")
pytest.importorskip("grpc_tools")

from confluent_kafka.admin import AdminClient

from pykbroker.client.errors import ClientError, Unreachable
from pykbroker.testing import Fault, Kafka
from pykbroker.testing.faults import BadFault
from pykbroker.tests.http.test_schema_registry import INT, Client


@pytest.fixture(scope="module")
def broker() -> Iterator[Kafka]:
    with Kafka(schema_registry=True) as found:
        yield found


@pytest.fixture
def kafka(broker: Kafka) -> Kafka:
    broker.reset()
    return broker


def test_requests_are_noted(kafka: Kafka) -> None:
    client = Client(kafka)
    client.headers["User-Agent"] = "app/1"
    client.ask("POST", "/subjects/a%2Fb/versions", {"schema": INT})
    client.ask("GET", "/subjects/none/versions?deleted=true")
    first, second = kafka.requests("SchemaRegistry")
    assert (first.path, first.status, first.client_id) == ("POST /subjects/a%2Fb/versions", 200, "app/1")
    assert (second.path, second.status) == ("GET /subjects/none/versions", 404)
    assert str(second).startswith("app/1 -> schema registry: GET /subjects/none/versions: 404 after ")
    assert second.took_ms is not None
    assert second.at_ms > 0
    assert kafka.requests(client_id="app/1") == [first, second]
    kafka.reset()
    assert kafka.requests("SchemaRegistry") == []


def test_a_status_is_answered_and_nothing_is_done(kafka: Kafka) -> None:
    client = Client(kafka)
    fault = kafka.faults.add("SchemaRegistry", path="POST /subjects/*/versions", status=50002, times=1)
    assert client.code("POST", "/subjects/s/versions", {"schema": INT}) == (500, 50002)
    assert client.ask("GET", "/subjects") == (200, [])
    assert client.ask("POST", "/subjects/s/versions", {"schema": INT})[0] == 200
    assert (fault.matched, fault.fired) == (1, 1)
    with kafka.faults.add("SchemaRegistry", path="/subjects", status=503):
        assert client.code("GET", "/subjects") == (503, 503)
        assert client.ask("GET", "/subjects/s/versions")[0] == 200


def test_after_it_is_done_and_the_answer_is_lost(kafka: Kafka) -> None:
    """What a client that asks again must cope with: the schema is there already, under the same id."""
    client = Client(kafka)
    kafka.faults.add("SchemaRegistry close after times=1")
    with pytest.raises(ConnectionError):
        client.ask("POST", "/subjects/s/versions", {"schema": INT})
    assert client.ask("POST", "/subjects/s/versions", {"schema": INT})[1]["id"] == 1
    assert client.ask("GET", "/subjects/s/versions") == (200, [1])


def test_held_requests_go_on_when_the_rule_is_removed(kafka: Kafka) -> None:
    found: list[object] = []
    fault = kafka.faults.add("SchemaRegistry", hold=True)
    asking = threading.Thread(target=lambda: found.append(Client(kafka).ask("GET", "/subjects")))
    asking.start()
    fault.wait()
    assert found == []
    fault.remove()
    asking.join(30)
    assert found == [(200, [])]


@pytest.mark.parametrize("effect", ["drop", "hold", "delay=1h"])
def test_a_reset_ends_what_waits(kafka: Kafka, effect: str) -> None:
    fault = kafka.faults.add(f"SchemaRegistry {effect}")
    found: list[BaseException] = []

    def ask() -> None:
        try:
            Client(kafka).ask("GET", "/subjects")
        except ConnectionError as error:
            found.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    fault.wait()
    kafka.reset()
    asking.join(30)
    assert len(found) == 1


def test_a_delay_passes_while_the_brokers_clock_stands() -> None:
    with Kafka(schema_registry=True, clock="manual") as kafka:
        fault = kafka.faults.add("SchemaRegistry", delay="200ms")
        begun = time.monotonic()
        assert Client(kafka).ask("GET", "/subjects") == (200, [])
        assert time.monotonic() - begun >= 0.2
        fault.wait()


@pytest.mark.filterwarnings("ignore::pykbroker.testing.faults.NeverMatchedWarning")
def test_only_of_the_registry() -> None:
    """A rule for all requests of Kafka is none for it, and its own befalls none of theirs."""
    with Kafka(schema_registry=True) as kafka:
        with kafka.faults.add("*", close=True), kafka.faults.add("SchemaRegistry", principal="User:x", close=True):
            assert Client(kafka).ask("GET", "/subjects") == (200, [])
        with kafka.faults.add("SchemaRegistry", close=True):
            client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
            assert client.list_topics(timeout=30).topics == {}
            with pytest.raises(Unreachable):
                kafka.schemas.subjects()


def test_ours_says_what_is_refused(kafka: Kafka) -> None:
    kafka.faults.add("SchemaRegistry", status=42201)
    with pytest.raises(ClientError, match="42201"):
        kafka.schemas.register("s", INT)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"api": "SchemaRegistry"}, "no action"),
        ({"api": "SchemaRegistry", "error": "NONE"}, "not an error"),
        ({"api": "SchemaRegistry", "error": "NOT_CONTROLLER"}, "has no error"),
        ({"api": "SchemaRegistry", "topic": "t", "close": True}, "has no topic"),
        ({"api": "SchemaRegistry", "throttle": 5}, "has no throttle"),
        ({"api": "SchemaRegistry", "status": 200}, "status is 200"),
        ({"api": "SchemaRegistry", "status": 600}, "status is 600"),
        ({"api": "SchemaRegistry", "status": "x"}, "status is 'x'"),
        ({"api": "Produce", "status": 500}, "acts on SchemaRegistry only"),
        ({"api": "*", "status": 500}, "acts on SchemaRegistry only"),
        ({"api": "*", "path": "/", "close": True}, "have no path"),
        ({"api": "Fetch", "path": "/", "close": True}, "have no path"),
    ],
)
def test_what_cannot_act_is_refused(words: dict[str, object], why: str) -> None:
    with pytest.raises(BadFault, match=why):
        Fault(**words)  # type: ignore[arg-type] # of JSON


def test_its_text_is_read_back() -> None:
    fault = Fault("schema-registry", path="POST /subjects/*", status=503, times=2)
    assert Fault.parse(str(fault)) == fault
    assert Fault.from_json(fault.as_json()) == fault
