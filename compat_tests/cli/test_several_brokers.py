"""The commands with three brokers of one pykbroker process, one of which goes away and comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compat_tests.cli.conftest import Result
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.ours import Pykbroker

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pykbroker]:
    """Three brokers; each test leaves all of them running."""
    brokers = Pykbroker(tmp_path_factory.mktemp("brokers"), brokers=3)
    brokers.start()
    yield brokers
    brokers.stop()


@pytest.fixture(scope="module")
def bootstrap(cluster: Pykbroker) -> str:
    """In place of the broker under test."""
    return cluster.addresses[1]


def _replicas(run: Run, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run("topics", "replicas", *options, "--json").json
    return found


def test_a_broker_that_is_away(run: Run, cluster: Pykbroker, name: Callable[..., str]) -> None:
    strict, alone = name("strict"), name("alone")
    run("topics", "create", strict, "-p", "2", "-r", "3", "-c", "min.insync.replicas=3")
    run("topics", "create", alone, "-p", "1")
    run("reassignments", "start", f"{alone}:0=3")
    eventually(lambda: _replicas(run, alone)[0]["replicas"], lambda replicas: replicas == [3])
    eventually(lambda: _replicas(run, "--under-replicated"), lambda rows: rows == [])
    cluster.change_broker("stop", 3)
    try:
        states = {broker["id"]: broker["state"] for broker in run("cluster", "describe", "--json").json["brokers"]}
        assert states == {1: "running", 2: "running", 3: "fenced"}
        rows = _replicas(run, strict)
        assert [(sorted(row["isr"]), row["elr"], row["offline"]) for row in rows] == [([1, 2], [3], [3])] * 2
        under = {(row["topic"], row["partition"]) for row in _replicas(run, "--under-replicated")}
        assert under == {(strict, 0), (strict, 1), (alone, 0)}
        assert [row["topic"] for row in _replicas(run, strict, "--under-min-isr")] == [strict] * 2
        assert _replicas(run, strict, "--at-min-isr") == []
        assert [(row["topic"], row["leader"]) for row in _replicas(run, "--unavailable")] == [(alone, None)]
        heading = run("topics", "describe", strict).lines[1]
        assert heading == "PARTITION\tLEADER\tREPLICAS\tISR\tELR\tOFFLINE\tSTART\tEND"
        away = run("configs", "describe", "broker", "3")
        assert away.status == 1
        assert "There is no broker 3; the cluster has 1, 2." in away.err
    finally:
        cluster.change_broker("start", 3)
    eventually(lambda: _replicas(run, strict, "--under-replicated"), lambda rows: rows == [])


def test_partitions_are_moved(run: Run, name: Callable[..., str]) -> None:
    topic = name("moved")
    run("topics", "create", topic, "-p", "2", "-r", "1")
    run("reassignments", "start", f"{topic}:0=2")  # a leader that is among the new replicas would stay
    eventually(lambda: _replicas(run, topic)[0]["replicas"], lambda replicas: replicas == [2])
    said = run("reassignments", "start", f"{topic}:0=3,1", f"{topic}:1=2")
    assert said.lines == [f"{topic}-0 is being moved", f"{topic}-1 is being moved"]
    eventually(
        lambda: [(row["replicas"], row["leader"]) for row in _replicas(run, topic)],
        lambda rows: rows == [([3, 1], 3), ([2], 2)],
    )
    assert [row["broker"] for row in run("logdirs", topic, "--json").json if row["partitions"]] == [1, 2, 3]


def test_a_move_under_way_is_listed_and_cancelled(run: Run, cluster: Pykbroker, name: Callable[..., str]) -> None:
    topic = name("waiting")
    run("topics", "create", topic, "-p", "2", "-r", "1")
    run("reassignments", "start", f"{topic}=1")
    eventually(lambda: [row["replicas"] for row in _replicas(run, topic)], lambda rows: rows == [[1], [1]])
    cluster.change_broker("stop", 3)
    try:
        run("reassignments", "start", f"{topic}=3")
        assert run("reassignments", "list", topic, "--json").json == [
            {"topic": topic, "partition": index, "replicas": [3, 1], "adding": [3], "removing": [1]}
            for index in range(2)
        ]
        assert run("reassignments", "list", topic).lines[1] == f"{topic}\t0\t3,1\t3\t1"
        assert run("reassignments", "cancel", f"{topic}:0").lines == [f"{topic}-0 stays where it was"]
        assert [row["partition"] for row in run("reassignments", "list", topic, "--json").json] == [1]
        assert run("reassignments", "cancel", "--all").lines == [f"{topic}-1 stays where it was"]
        assert [row["replicas"] for row in _replicas(run, topic)] == [[1], [1]]
        nothing = run("reassignments", "cancel", "--all")
        assert (nothing.status, nothing.out) == (0, "")
    finally:
        cluster.change_broker("start", 3)


def test_each_broker_has_its_settings(run: Run) -> None:
    for broker in ("1", "2", "3"):
        settings = {row["name"]: row["value"] for row in run("configs", "describe", "broker", broker, "--json").json}
        assert settings["node.id"] == broker
