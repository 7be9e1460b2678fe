"""Chaos that begins and ends while brokers run: by the control socket, anew after a reset, and on a tape."""

from __future__ import annotations

import json
from asyncio import Task
from pathlib import Path
from typing import Any

import pytest

from pykbroker.client.client import Client, parse_bootstrap
from pykbroker.faults.chaos_tape import LONGEST_DOWN_MS, ChaosTape, ClusterOutcome
from pykbroker.process.log_directories import StartFailed
from pykbroker.steered.separate import Separate
from pykbroker.testing import Kafka, KafkaCluster
from pykbroker.tests.steered.test_control import tell_blocking

LISTENERS = {"listeners": "PLAINTEXT://127.0.0.1:0"}
#: What does not disturb whoever asks.
SLOW = "7 profile=overload intensity=10"


def _tell(kafka: Kafka, command: str, **more: Any) -> dict[str, Any]:
    directory = kafka.node.directory
    return tell_blocking(directory, json.dumps({"command": command, **more}).encode())


def _ask(address: str, times: int = 4) -> None:
    with Client(parse_bootstrap(address), timeout_s=60) as client:
        for _ in range(times):
            client.metadata([])


def test_it_begins_and_ends_and_a_reset_ends_it() -> None:
    with Kafka() as kafka:
        assert _tell(kafka, "getChaos") == {"chaos": None, "befell": 0, "tape": []}
        assert _tell(kafka, "beginChaos", text=SLOW)["chaos"] == SLOW
        _ask(kafka.bootstrap_servers)
        befell = _tell(kafka, "endChaos")
        assert befell["befell"] > 0
        assert {each.outcome for each in ChaosTape.of_lines(befell["tape"]).decisions} <= {
            "slow request",
            "slow answer",
            "throttled",
        }
        _ask(kafka.bootstrap_servers)
        assert _tell(kafka, "getChaos")["befell"] == 0
        _tell(kafka, "beginChaos", text=SLOW)
        kafka.reset()
        assert _tell(kafka, "getChaos")["chaos"] is None


def _take_down(kafka: Kafka, down_ms: int) -> set[Task[None]]:
    """Begin with a broker down, or, on a starved machine, back already; what goes on of it."""
    _tell(kafka, "beginChaos", tape=ChaosTape("7", (ClusterOutcome(0, "broker lost", 2, down_ms=down_ms),)).lines())
    chaos = kafka._ask(lambda _: kafka._embedded.steering().chaos)
    going_on = kafka.wait_until(lambda _: chaos.as_json()["befell"] and chaos._going_on | {None}, timeout=60) - {None}
    kafka.wait_until(lambda cluster: 2 not in cluster.brokers or all(each.done() for each in going_on), timeout=30)
    return going_on


@pytest.mark.parametrize("end", ["endChaos", "beginChaos"])
def test_a_broker_that_is_down_comes_back_when_chaos_ends(end: str) -> None:
    with KafkaCluster(brokers=2) as kafka:
        _take_down(kafka, 1000)
        _tell(kafka, end, **({} if end == "endChaos" else {"text": SLOW}))
        assert kafka.wait_until(lambda cluster: 2 in cluster.brokers, timeout=60)


def test_a_reset_ends_what_goes_on() -> None:
    """Else it would start a broker of the next test, which that has stopped."""
    with KafkaCluster(brokers=2) as kafka:
        going_on = _take_down(kafka, LONGEST_DOWN_MS)
        kafka.reset()
        assert kafka.wait_until(lambda _: all(each.done() for each in going_on), timeout=30)


def test_a_life_begins_with_the_chaos_of_the_start() -> None:
    with Kafka(chaos=SLOW) as kafka:
        _ask(kafka.bootstrap_servers)
        assert _tell(kafka, "endChaos")["befell"] > 0
        kafka.reset()
        assert _tell(kafka, "getChaos") == {"chaos": SLOW, "befell": 0, "tape": [ChaosTape(SLOW, ()).lines()[0]]}


def test_a_tape_is_written_and_played(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for chaos, record in ((SLOW, first), (f"@{first}", second)):
        brokers = Separate(LISTENERS, 1, None, None, (("--chaos", chaos), ("--chaos-tape", str(record))))
        brokers.start()
        try:
            _ask(brokers.addresses()[0])
        finally:
            brokers.stop()
    tapes = [ChaosTape.of_lines(path.read_text().splitlines(keepends=True)) for path in (first, second)]
    assert tapes[0].decisions
    assert tapes[0] == tapes[1]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "in 'text', or as a 'tape'"),
        ({"text": "7", "tape": []}, "in 'text', or as a 'tape'"),
        ({"text": "seven"}, "write a seed"),
        ({"text": 7}, "wants a text"),
        ({"tape": []}, "empty"),
        ({"tape": "7"}, "a list of lines"),
        ({"tape": ["7"]}, "first line"),
        ({"text": "-7"}, "from 0 on"),
        (
            {"tape": ChaosTape("7", (ClusterOutcome(5, "broker lost", 9, down_ms=5),)).lines()},
            "a broker 9, and these are: 1;",
        ),
    ],
)
def test_what_is_no_chaos_is_refused(said: dict[str, Any], words: str) -> None:
    with Kafka() as kafka:
        assert words in _tell(kafka, "beginChaos", **said)["error"]
        assert _tell(kafka, "getChaos")["chaos"] is None


@pytest.mark.parametrize("path", ["/", "/no/such/folder/tape"])
def test_a_tape_that_cannot_be_written(path: str) -> None:
    brokers = Separate(LISTENERS, 1, None, None, (("--chaos", "7"), ("--chaos-tape", path)))
    with pytest.raises(StartFailed, match=r"cannot be written to .*; name another file") as failed:
        brokers.start()
    assert "Traceback" not in str(failed.value)


def test_a_tape_without_chaos() -> None:
    with pytest.raises(StartFailed, match="give --chaos SEED, too"):
        Separate(LISTENERS, 1, None, None, (("--chaos-tape", "tape"),)).start()
