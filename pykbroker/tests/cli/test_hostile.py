"""No command hands a terminal or a pipe what a broker says as it is: every command, every field of every answer.

The broker is `tests/kit/hostile.py`. A new command fails here until it has a line in LINES.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer.main

from pykbroker.cli.app import application
from pykbroker.lake.description import FILE, Description, Format
from pykbroker.lake.ledger import LakePartition, LedgerEntry, PartitionProgress
from pykbroker.runtime.escaping import escaped_layout
from pykbroker.tests.cli.conftest import Result
from pykbroker.tests.kit.hostile import PLAUSIBLE, RECORDS, WORD, Change, HostileBroker
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode

Run = Callable[..., Result]

W = WORD
#: The options of each command, and what it is asked about; several where a command has several ways.
LINES: dict[str, list[list[str]]] = {
    "offsets": [[W]],
    "verify": [["--in", W, "--out", W, "--key", "$value"]],
    "logdirs": [[], [W]],
    "produce": [[W]],
    "consume": [
        [W, "-n", "1"],
        [W, "-n", "1", "--all"],
        [W, "-n", "1", "-f", "%t %k %v %h\\n"],
        [W, "-g", W, "-n", "1"],
    ],
    "topics replicas": [[], [W]],
    "topics list": [[]],
    "topics create": [[W]],
    "topics describe": [[W]],
    "topics alter": [[W, "--partitions", "9"]],
    "topics delete": [[W, "--yes"]],
    "groups reset": [[W, "--topic", W, "--to-offset", "1", "--execute"], [W, "--all-topics", "--to-earliest"]],
    "groups list": [[]],
    "groups describe": [[W]],
    "groups delete": [[W, "--yes"]],
    "cluster quorum": [[]],
    "cluster describe": [[]],
    "cluster apis": [[]],
    "cluster features": [[]],
    "configs describe": [["topic", W], ["topic", W, "--all"]],
    "configs alter": [["topic", W, "--set", f"{W}={W}"]],
    "transactions producers": [[W]],
    "transactions list": [[]],
    "transactions describe": [[W]],
    "transactions abort": [[W, "--yes"]],
    "reassignments list": [[], [W]],
    "reassignments start": [["t:0=1"]],
    "reassignments cancel": [["--all"]],
    "acls list": [[]],
    "acls add": [["--topic", W, "-p", f"User:{W}", "-o", "read"]],
    "acls remove": [["--all", "--dry-run"], ["--topic", W]],
    "users list": [[], [W]],
    "users set": [[W]],
    "users remove": [[W]],
    "tokens list": [[]],
    "tokens create": [[]],
    "tokens renew": [[W]],
    "tokens expire": [[W]],
    "quotas list": [[]],
    "quotas set": [["--client-id", W, "consumer_byte_rate=1"]],
    "quotas remove": [["--client-id", W, "consumer_byte_rate"]],
    "client-metrics list": [[]],
    "client-metrics set": [[W, "--metrics", W]],
    "client-metrics remove": [[W]],
    "records delete": [[W, "--before", "1", "--yes"], [W, "--before", "2", "--yes"]],
    "perf produce": [[W, "-n", "1"]],
    "perf consume": [[W, "-n", "1"]],
}
#: Commands that ask no broker.
OTHERS = {
    **dict.fromkeys(("serve", "check"), "a broker of its own, and its settings"),
    **dict.fromkeys(("brokers list", "brokers stop", "brokers start"), "the control socket in the broker's directory"),
    **dict.fromkeys(("faults add", "faults list", "faults remove", "faults clear"), "the control socket"),
    "chaos": "brokers of its own",
    "dump": "files: test_a_dump_of_hostile_files",
}


#: Commands that print numbers alone.
NUMBERS = ("cluster quorum", "cluster apis", "transactions producers", "perf produce", "perf consume")


def paths(command: Any = None, path: str = "") -> Iterator[str]:
    command = command or typer.main.get_command(application())
    if not hasattr(command, "commands"):
        yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from paths(inner, f"{path} {name}".strip())


def test_every_command_is_here() -> None:
    assert {path for path in paths() if not path.startswith(("lake ", "schemas "))} == LINES.keys() | OTHERS.keys()


def plausible(_struct: Any, name: str, value: Any) -> Any:
    return PLAUSIBLE.get(name, value)


def refusing(_struct: Any, name: str, value: Any) -> Any:
    return int(ErrorCode.INVALID_REQUEST) if name in ("error_code", "partition_error_code") else value


def elsewhere(_struct: Any, name: str, value: Any) -> Any:
    """The brokers have names that no resolver takes."""
    return WORD if name == "host" else value


def authenticating(struct: Any, name: str, value: Any) -> Any:
    return refusing(struct, name, value) if type(struct).__name__ == "SaslAuthenticateResponse" else value


def of_kind(kind: str) -> Change:
    """The groups are of this kind."""
    return lambda struct, name, value: kind if name == "group_type" else plausible(struct, name, value)


CHANGES: dict[str, Change | None] = {
    "all": None,
    "plausible": plausible,
    "refusing": refusing,
    "elsewhere": elsewhere,
    "authenticating": authenticating,
}


def check(command: str, result: Result, *, terminal: bool, as_json: bool) -> None:
    out, err = (re.sub(r"\x1b\[[0-9;]*m", "", text) if terminal else text for text in (result.out, result.err))
    assert escaped_layout(err) == err
    assert "\nFORGED" not in err
    if command == "consume" and not as_json:  # values keep their lines, and in a pipe all their bytes
        assert not terminal or escaped_layout(out) == out
        return
    assert escaped_layout(out) == out
    assert "\nFORGED" not in out
    assert "FORGED\trow" not in out


def run_at(
    broker: HostileBroker,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    words: list[str],
    *,
    terminal: bool,
    as_json: bool,
    patience_s: float = 0.2,
) -> Result:
    monkeypatch.setenv("COLUMNS", "2000")  # cells of tables are folded on narrow terminals
    monkeypatch.setenv("FORCE_COLOR", "1") if terminal else monkeypatch.delenv("FORCE_COLOR", raising=False)
    options = ["-b", f"127.0.0.1:{broker.port}", "--timeout", str(patience_s), *(["--json"] if as_json else [])]
    return run(*command.split(), *words, *options, stdin=b"secret\n")


@pytest.mark.parametrize("change", ["all", "plausible", "refusing", "elsewhere"])
@pytest.mark.parametrize("command", LINES)
def test_what_a_broker_says_does_nothing(command: str, change: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told = ""
    with closing(HostileBroker(CHANGES[change])) as broker:
        for terminal, words, as_json in product((False, True), LINES[command], (False, True)):
            if as_json and ("-f" in words or command == "produce"):
                continue
            result = run_at(broker, run, monkeypatch, command, words, terminal=terminal, as_json=as_json)
            check(command, result, terminal=terminal, as_json=as_json)
            told += result.out + result.err
    if change == "plausible" and command not in NUMBERS:
        assert "FORGED" in told, "the broker's words are not seen at all"


@pytest.mark.parametrize("kind", ["consumer", "share", "streams"])
@pytest.mark.parametrize("command", ["groups describe", "groups list", "groups reset", "groups delete"])
def test_what_a_broker_says_of_other_groups_does_nothing(
    kind: str, command: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind is described by an API of its own."""
    told = ""
    with closing(HostileBroker(of_kind(kind))) as broker:
        for terminal, words, as_json in product((False, True), LINES[command], (False, True)):
            result = run_at(broker, run, monkeypatch, command, words, terminal=terminal, as_json=as_json)
            check(command, result, terminal=terminal, as_json=as_json)
            told += result.out + result.err
    assert "FORGED" in told
    if command == "groups describe":
        of_this = {
            "consumer": {ApiKey.CONSUMER_GROUP_DESCRIBE},
            "share": {ApiKey.SHARE_GROUP_DESCRIBE, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS},
            "streams": {ApiKey.STREAMS_GROUP_DESCRIBE},
        }
        assert of_this[kind] <= broker.asked
        assert "START" in told if kind == "share" else "COMMITTED" in told


def test_the_status_of_a_lake_of_a_hostile_broker(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other commands of the lake print what Spark has read, in the same way."""
    (tmp_path / FILE).write_text(Description(Format.PARQUET, W).to_json())
    (tmp_path / "ledger").mkdir()
    entry = LedgerEntry(0, W, 1, {LakePartition(W, 0): PartitionProgress(0, 1, 1)})
    (tmp_path / "ledger" / f"{0:012d}.json").write_text(entry.to_json())
    with closing(HostileBroker(plausible)) as broker:
        for terminal, as_json in product((False, True), (False, True)):
            how: dict[str, Any] = {"terminal": terminal, "as_json": as_json, "patience_s": 30}
            result = run_at(broker, run, monkeypatch, "lake status", [str(tmp_path)], **how)
            check("lake status", result, terminal=terminal, as_json=as_json)
            assert (result.status, "FORGED" in result.out) == (0, True), result.err


def test_a_dump_of_hostile_files(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "x-0"
    folder.mkdir()
    (folder / "00000000000000000001.log").write_bytes(RECORDS)
    for words in ([], ["-r"], ["-r", "--json"]):
        result = run("dump", str(folder), *words)
        check("dump", result, terminal=False, as_json=False)
        assert result.status == 0
    assert "FORGED" in result.out


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
@pytest.mark.parametrize("change", ["all", "refusing", "authenticating"])
def test_what_it_says_before_anybody_signed_in(mechanism: str, change: str, run: Run, tmp_path: Path) -> None:
    kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    login = f'org.apache.kafka.common.security.{kind}LoginModule required username="u" password="p";'
    config = tmp_path / "client.properties"
    config.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={login}\n", encoding="utf-8"
    )
    with closing(HostileBroker(CHANGES[change])) as broker:
        result = run("topics", "list", "-b", f"127.0.0.1:{broker.port}", "--command-config", str(config))
    check("topics list", result, terminal=False, as_json=False)
    if change == "authenticating":
        assert result.status == 1
        assert "FORGED" in result.err
