"""Every command of the table is there, tells what it takes, and ends in words where it cannot do what it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.container.tools.table import TOOLS, main
from pykbroker.container.tools.unsupported import INSTEAD

_OF_FILES_AND_PROCESSES = (
    "kafka-dump-log",
    "kafka-run-class",
    "kafka-server-start",
    "kafka-server-stop",
    "kafka-storage",
)
_OF_A_CLUSTER = [name for name in TOOLS if name not in _OF_FILES_AND_PROCESSES]
#: What is asked of a cluster, as far as a command has to be told.
_ASKED = {
    "kafka-acls": ["--list"],
    "kafka-client-metrics": ["--list"],
    "kafka-cluster": ["cluster-id"],
    "kafka-configs": ["--describe", "--entity-type", "topics"],
    "kafka-console-consumer": ["--topic", "t"],
    "kafka-console-producer": ["--topic", "t"],
    "kafka-consumer-groups": ["--list"],
    "kafka-consumer-perf-test": ["--topic", "t", "--num-records", "1"],
    "kafka-delegation-tokens": ["--describe", "--command-config", "plan.json"],
    "kafka-delete-records": ["--offset-json-file", "plan.json"],
    "kafka-features": ["describe"],
    "kafka-groups": ["--list"],
    "kafka-leader-election": ["--election-type", "preferred", "--all-topic-partitions"],
    "kafka-log-dirs": ["--describe"],
    "kafka-metadata-quorum": ["describe", "--status"],
    "kafka-producer-perf-test": ["--topic", "t", "--num-records", "1", "--throughput", "-1", "--record-size", "1"],
    "kafka-reassign-partitions": ["--list"],
    "kafka-share-groups": ["--list"],
    "kafka-streams-groups": ["--list"],
    "kafka-verifiable-consumer": ["--topic", "t", "--group-id", "g"],
    "kafka-verifiable-producer": ["--topic", "t", "--max-messages", "1"],
    "kafka-transactions": ["list"],
    "kafka-topics": ["--list"],
}


@pytest.mark.parametrize("name", TOOLS)
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


@pytest.mark.parametrize("name", INSTEAD)
def test_a_command_that_is_elsewhere(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert name not in TOOLS
    assert main(f"{name}.sh", ["--whatever"]) == 1
    assert f"There is no command {name}; instead: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--list", "--zookeeper", "zk:2181"], "There is no ZooKeeper: --bootstrap-server HOST:PORT"),
        (["--list", "--colour"], "unrecognized arguments: --colour\n  It takes "),
    ],
)
def test_an_option_that_there_is_not(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("kafka-consumer-groups", words) == 1
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["share", "streams"])
def test_groups_that_come_later_are_refused_in_words(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--bootstrap-server", "127.0.0.1:1"]
    assert main(f"kafka-{kind}-groups", [*at, "--describe", "--group", "g", "--members"]) == 1
    assert f"this command only lists {kind} groups (KIP-" in capsys.readouterr().err
    assert main(f"kafka-{kind}-groups", [*at, "--list", "--colour"]) == 1
    assert "unrecognized arguments: --colour" in capsys.readouterr().err


def test_a_command_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("kafka-magic", []) == 1
    assert "There is no command kafka-magic; there are kafka-acls" in capsys.readouterr().err
