"""No command of Kafka's names hands on what a broker says as it is; as tests/cli/test_hostile.py has it for our own."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from pykbroker.container.tools.table import TOOLS, main
from pykbroker.runtime.escaping import escaped_layout
from pykbroker.tests.cli.test_hostile import CHANGES, of_kind
from pykbroker.tests.kit.hostile import RECORDS, WORD, HostileBroker

W = WORD
PLAN = {"version": 1, "partitions": [{"topic": W, "partition": 0, "offset": 1, "replicas": [1], "log_dirs": [W]}]}
TOPICS = {"version": 1, "topics": [{"topic": W}]}
#: The options of each command; PLAN and TOPICS are files.
LINES: dict[str, list[list[str]]] = {
    "kafka-acls": [["--list"], ["--list", "--principal", f"User:{W}"], ["--remove", "--topic", W, "--force"],
                   ["--add", "--topic", W, "--allow-principal", f"User:{W}", "--operation", "read"]],
    "kafka-broker-api-versions": [[]],
    "kafka-client-metrics": [["--list"], ["--describe"], ["--alter", "--name", W, "--metrics", W], ["--delete", "--name", W]],
    "kafka-cluster": [["cluster-id"], ["list-endpoints"]],
    "kafka-configs": [
        ["--describe", "--entity-type", "topics"], ["--describe", "--entity-type", "topics", "--entity-name", W, "--all"],
        ["--describe", "--entity-type", "users"], ["--describe", "--entity-type", "clients"],
        ["--alter", "--entity-type", "topics", "--entity-name", W, "--add-config", "a=b"],
    ],
    "kafka-console-consumer": [["--topic", W, "--partition", "0", "--offset", "1", "--max-messages", "1"]],
    "kafka-console-producer": [["--topic", W]],
    "kafka-consumer-groups": [
        ["--list"], ["--list", "--state"], ["--describe", "--group", W], ["--describe", "--all-groups", "--members"],
        ["--describe", "--group", W, "--state"], ["--delete", "--group", W], ["--delete-offsets", "--group", W, "--topic", W],
        ["--reset-offsets", "--group", W, "--all-topics", "--to-earliest", "--dry-run"],
        ["--reset-offsets", "--group", W, "--all-topics", "--to-earliest", "--dry-run", "--export"],
    ],
    "kafka-consumer-perf-test": [["--topic", W, "--messages", "1", "--timeout", "200"]],
    "kafka-delegation-tokens": [
        ["--command-config", "CONFIG", "--describe"], ["--command-config", "CONFIG", "--create", "--max-life-time-period", "1"],
        ["--command-config", "CONFIG", "--renew", "--hmac", "eA==", "--renew-time-period", "1"],
        ["--command-config", "CONFIG", "--expire", "--hmac", "eA==", "--expiry-time-period", "1"],
    ],
    "kafka-delete-records": [["--offset-json-file", "PLAN"]],
    "kafka-features": [["describe"], ["upgrade", "--feature", f"{W}=1"]],
    "kafka-get-offsets": [["--topic", W], []],
    "kafka-groups": [["--list"]],
    "kafka-leader-election": [["--election-type", "preferred", "--all-topic-partitions"],
                              ["--election-type", "preferred", "--path-to-json-file", "PLAN"]],
    "kafka-log-dirs": [["--describe"]],
    "kafka-metadata-quorum": [["describe", "--status"], ["describe", "--replication"]],
    "kafka-producer-perf-test": [
        ["--topic", W, "--num-records", "1", "--record-size", "1", "--throughput", "-1", "--producer-props", "bootstrap.servers=HERE"]
    ],
    "kafka-reassign-partitions": [
        ["--list"], ["--verify", "--reassignment-json-file", "PLAN"], ["--cancel", "--reassignment-json-file", "PLAN"],
        ["--execute", "--reassignment-json-file", "PLAN", "--timeout", "10"],
        ["--generate", "--topics-to-move-json-file", "TOPICS", "--broker-list", "1"],
    ],
    "kafka-share-groups": [["--list"]],
    "kafka-streams-groups": [["--list"]],
    "kafka-topics": [["--list"], ["--describe"], ["--describe", "--unavailable-partitions"], ["--create", "--topic", W],
                     ["--delete", "--topic", W], ["--alter", "--topic", W, "--partitions", "9"]],
    "kafka-transactions": [
        ["list"], ["describe", "--transactional-id", W], ["describe-producers", "--topic", W, "--partition", "0"],
        ["find-hanging", "--broker-id", "1"], ["forceTerminateTransaction", "--transactional-id", W],
        ["abort", "--topic", W, "--partition", "0", "--start-offset", "1"],
    ],
    "kafka-verifiable-consumer": [["--topic", W, "--group-id", W, "--max-messages", "1"]],
    "kafka-verifiable-producer": [["--topic", W, "--max-messages", "1"]],
}  # fmt: skip
#: Commands that ask no broker.
OTHERS = {
    "kafka-dump-log": "test_a_dump_of_hostile_files",
    "kafka-run-class": "starts another of them",
    "kafka-server-start": "a broker of its own",
    "kafka-server-stop": "signals",
    "kafka-storage": "its own directories",
}
#: Commands that print numbers, and what they were given.
SILENT = {
    "kafka-broker-api-versions", "kafka-console-producer", "kafka-consumer-perf-test", "kafka-metadata-quorum",
    "kafka-producer-perf-test", "kafka-verifiable-consumer",
}  # fmt: skip
#: Commands that show groups of one kind alone.
OF_KIND = {"kafka-share-groups": of_kind("share"), "kafka-streams-groups": of_kind("streams")}
#: What the broker's bytes are handed on for: records, as Kafka's own command prints them.
RAW = {"kafka-console-consumer"}


def test_every_command_is_here() -> None:
    assert TOOLS.keys() == LINES.keys() | OTHERS.keys()


def check(printed: str) -> None:
    assert escaped_layout(printed) == printed
    assert "\nFORGED" not in printed
    assert "FORGED\trow" not in printed


@pytest.mark.parametrize("change", ["all", "plausible", "refusing", "elsewhere"])
@pytest.mark.parametrize("command", LINES)
def test_what_a_broker_says_does_nothing(
    command: str, change: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "input").write_text("y\n")
    (tmp_path / "config").write_text("")
    (tmp_path / "plan").write_text(json.dumps(PLAN))
    (tmp_path / "topics").write_text(json.dumps(TOPICS))
    monkeypatch.setattr("pykbroker.container.tools.running._TIMEOUT_S", 0.2)
    told, says = "", CHANGES[change]
    if change == "plausible":
        says = OF_KIND.get(command, says)
    with closing(HostileBroker(says)) as broker:
        here = f"127.0.0.1:{broker.port}"
        files = {
            "PLAN": str(tmp_path / "plan"),
            "TOPICS": str(tmp_path / "topics"),
            "CONFIG": str(tmp_path / "config"),
            "HERE": here,
        }
        for words in LINES[command]:
            given = [files.get(word, word.replace("HERE", here)) for word in words]
            if "HERE" not in "".join(words):
                given = ["--bootstrap-server", here, *given]
            with (tmp_path / "input").open() as standard_input:
                monkeypatch.setattr("sys.stdin", standard_input)
                main(command, given)
            printed = capfd.readouterr()
            check(printed.err)
            if command not in RAW:
                check(printed.out)
            told += printed.out + printed.err
    if change == "plausible" and command not in SILENT:
        assert "FORGED" in told, f"the broker's words are not seen at all: {told}"


def test_a_dump_of_hostile_files(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "00000000000000000001.log"
    file.write_bytes(RECORDS)
    assert main("kafka-dump-log", ["--files", str(file), "--print-data-log"]) == 0
    printed = capfd.readouterr().out
    check(printed)
    assert "FORGED" in printed
