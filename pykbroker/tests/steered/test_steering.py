"""The interface of a broker that ``serve`` runs, and of one in a test's own process or in another."""

from __future__ import annotations

import contextlib
import http.client
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pykbroker.client.connection import BrokerConnection
from pykbroker.config.setting import ConfigError
from pykbroker.process.log_directories import StartFailed
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.testing import Kafka
from pykbroker.tests.cli.test_serve import serving
from pykbroker.tests.steered.test_control import tell_blocking
from pykbroker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)


def ask(address: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(address, timeout=30)
    raw = None if body is None else json.dumps(body)
    connection.request(method, f"/api/v1{path}", raw, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.status, json.load(response)
    connection.close()
    return answer


def settings_of(bootstrap: str) -> dict[str, str | None]:
    """All settings of broker 1, as a client is told them."""
    host, _, port = bootstrap.rpartition(":")
    with contextlib.closing(BrokerConnection(host, int(port), timeout_s=30, client_id="c")) as talk:
        asked = DescribeConfigsRequest([DescribeConfigsResource(4, "1", None)])
        (found,) = talk.call(asked, DescribeConfigsResponse, 1).results
    return {each.name: each.value for each in found.configs}


def test_a_reset_leaves_the_release_and_the_control_socket(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving(*("--listen", "127.0.0.1:0", "--ephemeral", "--http", "0", "--json", "--as-version", "2.8")) as (
        _,
        line,
    ):
        ready = json.loads(line)
        bootstrap, directory = ready["brokers"][0]["listeners"]["PLAINTEXT"], Path(ready["log_dirs"][0])
        before = settings_of(bootstrap)
        assert ask(ready["http"], "PUT", "/snapshots/s")[0] == 200
        for path in ("/reset", "/snapshots/s/restore"):
            assert ask(ready["http"], "POST", path) == (200, {})
            assert settings_of(bootstrap) == before
            (broker,) = tell_blocking(directory, b'{"command": "listBrokers"}')["brokers"]
            assert broker["state"] == "running"
            assert tell_blocking(directory, b'{"command": "listFaults"}') == {"faults": []}


def test_a_broker_that_serve_runs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving("--listen", "127.0.0.1:0", "--ephemeral", "--http", "0", "--json") as (process, line):
        ready = json.loads(line)
        address = ready["http"]
        assert ask(address, "GET", "/requests") == (200, {"recording": False, "requests": []})
        assert ask(address, "PUT", "/requests/recording", {"on": True}) == (200, {"recording": True})
        bootstrap = ready["brokers"][0]["listeners"]["PLAINTEXT"]
        assert topics_of(bootstrap, create="kept") == {"kept"}
        apis = {each["api"] for each in ask(address, "GET", "/requests")[1]["requests"]}
        assert apis >= {"CreateTopics", "Metadata"}
        assert ask(address, "PUT", "/requests/recording", {"on": False}) == (200, {"recording": False})
        assert ask(address, "PUT", "/snapshots/one") == (200, {"snapshots": ["one"]})
        assert ask(address, "POST", "/faults", {"api": "*", "drop": True, "client": "nobody"})[0] == 200
        assert ask(address, "POST", "/reset") == (200, {})
        assert topics_of(bootstrap) == set()
        assert ask(address, "GET", "/faults") == (200, {"faults": []})
        assert ask(address, "GET", "/requests") == (200, {"recording": False, "requests": []})
        assert ask(address, "POST", "/snapshots/one/restore") == (200, {})
        assert topics_of(bootstrap) == {"kept"}
        process.terminate()
        assert process.wait(30) == 0
    assert list(tmp_path.iterdir()) == [], "the data, and what was kept of them, go with the process"


@pytest.mark.deep
def test_serve_is_spoken_to_in_its_own_words(tmp_path: Path) -> None:
    """What to do is an option of its command line, not Python."""
    with serving("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path), "--http", "0", "--json") as (_, line):
        address = json.loads(line)["http"]
        ask(address, "PUT", "/snapshots/one")
        for path, body, word in (
            ("/reset", None, "serve --ephemeral"),
            ("/snapshots/one/restore", None, "serve --ephemeral"),
            ("/clock/advance", {"by": "1s"}, "serve --clock manual"),
        ):
            status, answer = ask(address, "POST", path, body)
            assert (status, word in answer["title"]) == (409, True), answer
            assert not any(python in answer["title"] for python in ("data_dir", "()", "Kafka("))


@pytest.mark.deep
def test_serve_begins_with_its_seed_and_its_clock_stands_still(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_text('{"value": "one book"}\n')
    options = ("--ephemeral", "--http", "0", "--json", "--clock", "manual", "--seed", str(path))
    with serving("--listen", "127.0.0.1:0", *options) as (process, line):
        address = json.loads(line)["http"]

        def records() -> list[dict[str, Any]]:
            return ask(address, "GET", "/seeds?form=json")[1]["topics"]["orders"]["records"]

        began = ask(address, "GET", "/clock")[1]
        assert (began["kind"], records()[0]["timestamp"]) == ("manual", began["now_ms"])
        for _ in range(2):
            now = ask(address, "POST", "/clock/advance", {"by": "2h"})[1]["now_ms"]
            assert ask(address, "POST", "/seeds", {"topics": {"orders": [{"value": "two"}]}})[0] == 200
            assert [each["timestamp"] for each in records()][1:] == [now]
            assert ask(address, "POST", "/reset") == (200, {})
            assert [(each["value"], each["timestamp"]) for each in records()] == [("one book", now)]
        assert now - began["now_ms"] == 4 * 3_600_000
        process.terminate()
        assert process.wait(60) == 0


def test_a_protected_broker_of_a_test_has_a_token() -> None:
    with Kafka(http=0) as kafka:
        assert kafka.http_token is None
    protections: list[dict[str, Any]] = [
        {"settings": {"authorizer.class.name": STANDARD_AUTHORIZER}},
        {"security": "SSL"},
    ]
    for protection in protections:
        with Kafka(http=0, **protection) as kafka:
            assert ask(kafka.http_address, "GET", "/faults")[0] == 401
            connection = http.client.HTTPConnection(kafka.http_address, timeout=30)
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {kafka.http_token}"})
            assert connection.getresponse().status == 200
            connection.close()


@pytest.mark.deep
def test_data_that_stay_are_kept(tmp_path: Path) -> None:
    with serving("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path), "--http", "0", "--json") as (_, line):
        status, answer = ask(json.loads(line)["http"], "POST", "/reset")
        assert (status, "serve --ephemeral" in answer["title"]) == (409, True)


def topics_of(bootstrap: str, create: str | None = None) -> set[str]:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    if create is not None:
        admin.create_topics([NewTopic(create, 1)])[create].result(20)
    return set(admin.list_topics(timeout=20).topics)


@pytest.mark.parametrize("process", [False, True])
@pytest.mark.deep(but=1)
def test_a_tests_broker_has_it_when_it_is_asked_for(process: bool) -> None:
    with Kafka(http=0, process=process) as kafka:
        assert ask(kafka.http_address, "GET", "/brokers")[1]["brokers"][0]["state"] == "running"
        assert ask(kafka.http_address, "POST", "/reset") == (200, {})
    with Kafka() as kafka, pytest.raises(RuntimeError, match="Kafka\\(http=0\\)"):
        _ = kafka.http_address


def test_what_is_no_address_is_said_at_once() -> None:
    with pytest.raises(ConfigError, match="--http wants HOST:PORT"):
        Kafka(http="nowhere:")


def test_a_port_that_is_taken_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # others' tests have folders in the common one meanwhile
    with Kafka(http=0) as kafka:
        second = Kafka(http=kafka.http_address)
        with pytest.raises(StartFailed, match="the port is in use"):
            second.start()
        with pytest.raises(RuntimeError, match="not running"):
            _ = second.node
    assert list(tmp_path.iterdir()) == []
