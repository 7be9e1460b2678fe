"""The HTTP side as a whole: who is answered what, and what is left when it is closed."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from pykbroker.process.log_directories import StartFailed
from pykbroker.requests.pipeline import Place
from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.http.http_client import with_http

_TOKEN = "0123456789abcdef"


def test_health_readiness_and_metrics() -> None:
    with with_http() as http:
        assert http.ask("/health").json["status"] == "alive"
        assert http.ask("/ready").json == {"status": "ready"}
        page = http.ask("/metrics")
        assert page.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "\nkafka_brokers 1\n" in page.text
        for answer in (page, http.ask("/health"), http.ask("/nothing")):
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Server"] == "pykbroker"
        nothing = http.ask("/brokers/1/stop").json
        assert nothing["status"] == 404
        assert "/api/v1/openapi.json" in nothing["title"]
        refused = http.ask("/metrics", method="POST")
        assert (refused.status, refused.headers["Allow"]) == (405, "GET,HEAD")
        assert http.kafka.node.summary()["http"] == f"127.0.0.1:{http.port}"


def test_not_ready_while_no_broker_runs() -> None:
    with with_http(brokers=2) as http:
        http.kafka.broker(1).stop()
        assert http.ask("/ready").status == 200
        assert http.metrics()["kafka_brokers"] == {(): 1}
        http.kafka.broker(2).stop()
        answer = http.ask("/ready")
        assert (answer.status, answer.json["why"]) == (
            503,
            "every broker of this process is stopped: pykbroker brokers start ID",
        )
        assert http.ask("/health").status == 200
        http.kafka.broker(2).start()
        assert http.ask("/ready").status == 200


def test_it_goes_on_over_a_reset() -> None:
    with with_http() as http:
        http.kafka.create_topic("before")
        assert ("topic", "before") in next(iter(http.metrics()["kafka_topic_partitions"]))
        http.kafka.reset()
        assert "kafka_topic_partitions" not in http.metrics()
        http.kafka.create_topic("after")
        assert list(http.metrics()["kafka_topic_partitions"]) == [(("topic", "after"),)]


_FOREIGN = (
    *(
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.evil.example",
        ".",
        "",
        "[evil.example]",
        "localhost.",
        "ai",
        "evil:8080",
        "2130706433",
    ),
    *(
        "127.0.0.1%.evil.example",
        "127.0.0.1%25",
        "[::1].evil.example",
        "[::1%.evil.example]",
        "[::1",
        "fe80::1%.evil.example",
    ),
    *("localhost:80.evil.example", "localhost:80:80", "localhost@evil.example", "localhost evil", "evil\xb7example"),
)
_OURS = (
    *(
        "127.0.0.1:1234",
        "localhost",
        "localhost:",
        "[::1]:80",
        "[fe80::1%eth0]:80",
        "10.1.2.3",
        "kafka:8080",
    ),
    *("Broker.Example:8080", "Advertised.Example", socket.gethostname()),
)


_ADVERTISED = {"advertised.listeners": "PLAINTEXT://advertised.example:9092"}


def test_a_page_of_others_cannot_ask_by_its_own_name() -> None:
    """DNS rebinding: the browser believes that the broker is evil.example."""
    with with_http(
        HttpOptions("127.0.0.1", 0, names=frozenset({"broker.example", "kafka"})), settings=_ADVERTISED
    ) as http:
        for host in _FOREIGN:
            answer = http.ask("/metrics", headers={"Host": host})
            assert answer.status in (400, 421), host
            assert "kafka" not in answer.text
        for host in _OURS:
            assert http.ask("/metrics", headers={"Host": host}).status == 200, host
        for host, status in (("evil.example", 421), ("broker.example", 200)):  # it wins over the header
            assert http.ask(f"http://{host}:1/metrics", headers={"Host": "localhost"}).status == status, host
        assert http.ask("http://localhost/metrics", headers={"Host": "evil.example"}).status == 421
        assert http.ask("/health", headers={"Host": "evil.example"}).status == 200
        assert "--http-name evil.example" in http.ask("/metrics", headers={"Host": "evil.example"}).json["title"]


def test_with_a_token_only_who_knows_it_is_told_more_than_health() -> None:
    with with_http(HttpOptions("127.0.0.1", 0, token=_TOKEN)) as http:
        assert http.ask("/health").status == http.ask("/ready").status == 200
        for said in ("", _TOKEN, "Bearer", f"Basic {_TOKEN}", "Bearer 0123456789abcdeF", f"Bearer {_TOKEN}x"):
            answer = http.ask("/metrics", headers={"Authorization": said})
            assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer"), said
        assert http.ask("/metrics").status == 401
        assert http.ask("/nothing").status == 401
        for said in (f"Bearer {_TOKEN}", f"bearer  {_TOKEN} "):
            assert http.ask("/metrics", headers={"Authorization": said, "Host": "any.example"}).status == 200


def test_connections_are_bounded_and_clients_of_kafka_are_served_all_the_same() -> None:
    with with_http() as http:
        held = [socket.create_connection(("127.0.0.1", http.port)) for _ in range(40)]
        try:
            for each in held[:8]:
                each.settimeout(20)
                assert each.recv(1) == b""
            assert len(http.side._server.connections) == 32
            http.kafka.create_topic("t")
        finally:
            for each in held:
                each.close()
        http.kafka.wait_until(lambda _: not http.side._server.connections)
        assert http.ask("/health").status == 200


_WHO_IMPORTS = """
import sys, threading
from urllib.request import urlopen
from pykbroker.testing import Kafka

class Noting:
    def find_spec(self, name, path=None, target=None):
        if name in ("pykbroker.http.api.router", "pykbroker.http.console.router"):
            print(name, threading.current_thread() is loop[0])

loop = []
with Kafka(http=0) as kafka:
    kafka._embedded.call(lambda: loop.append(threading.current_thread()))
    sys.meta_path.insert(0, Noting())
    for path in ("/api/v1/clock", "/console/api/overview"):
        for _ in range(2):
            assert urlopen(f"http://{kafka.http_address}{path}").status == 200
"""


def test_nobody_waits_while_what_is_asked_for_first_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", _WHO_IMPORTS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        ["pykbroker.http.api.router False", "pykbroker.http.console.router False"],
    ), done.stderr


def test_an_address_that_is_taken_is_said_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(
                StartFailed, match=rf"cannot listen for HTTP on 127.0.0.1:{port}: the port is in use.*--http"
            ),
            with_http(HttpOptions("127.0.0.1", port)),
        ):
            pass


def test_closed_it_counts_nothing() -> None:
    with with_http() as http:
        kafka = http.kafka
        assert kafka.node.server.dispatcher.places.fills(Place.MEASURE)
        kafka._embedded.begin(http.side.close()).result()
        assert not kafka.node.server.dispatcher.places.fills(Place.MEASURE)
        assert "http" not in kafka.node.services
        with pytest.raises(ConnectionRefusedError):
            http.ask("/health")
