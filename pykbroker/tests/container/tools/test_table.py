"""Every command of the table is there, tells what it takes, and ends in words where it cannot do what it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.container.tools.table import TOOLS, main

_OF_A_CLUSTER = [
    name
    for name in TOOLS
    if name not in ("kafka-dump-log", "kafka-storage", "kafka-server-start", "zookeeper-server-start")
]
#: What is asked of a cluster, as far as a command has to be told.
_ASKED = {
    "kafka-acls": ["--list"],
    "kafka-cluster": ["cluster-id"],
    "kafka-configs": ["--describe", "--entity-type", "topics"],
    "kafka-console-consumer": ["--topic", "t"],
    "kafka-console-producer": ["--topic", "t"],
    "kafka-consumer-groups": ["--list"],
    "kafka-consumer-perf-test": ["--topic", "t", "--num-records", "1"],
    "kafka-delete-records": ["--offset-json-file", "plan.json"],
    "kafka-features": ["describe"],
    "kafka-groups": ["--list"],
    "kafka-leader-election": ["--election-type", "preferred", "--all-topic-partitions"],
    "kafka-log-dirs": ["--describe"],
    "kafka-metadata-quorum": ["describe", "--status"],
    "kafka-producer-perf-test": ["--topic", "t", "--num-records", "1", "--throughput", "-1", "--record-size", "1"],
    "kafka-reassign-partitions": ["--list"],
    "kafka-transactions": ["list"],
    "kafka-topics": ["--list"],
}


@pytest.mark.parametrize("name", [name for name in TOOLS if name != "zookeeper-server-start"])
def test_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(f"{name}.sh", ["--help"]) == 0
    assert f"usage: {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", _OF_A_CLUSTER)
def test_a_broker_has_to_be_named_and_to_be_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_text('{"partitions": [{"topic": "t", "partition": 0, "offset": 1}]}')
    words = _ASKED.get(name, [])
    assert main(name, words) == 1
    assert "--bootstrap-server HOST:PORT is missing" in capsys.readouterr().err
    assert main(name, ["--bootstrap-server", "127.0.0.1:1", *words]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err


def test_zookeeper_is_not_started(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("zookeeper-server-start", ["zookeeper.properties"]) == 0
    assert "not needed" in capsys.readouterr().err


def test_a_command_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("kafka-magic", []) == 1
    assert "There is no command kafka-magic; there are kafka-acls" in capsys.readouterr().err
