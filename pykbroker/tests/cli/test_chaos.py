"""``pykbroker chaos``: programs that pass, fail and hang, and what is kept of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pykbroker.faults.chaos_tape import ChaosTape
from pykbroker.tests.cli.conftest import Result

Run = Callable[..., Result]
#: Asks for metadata, and fails once an answer takes longer than the limit, as chaos has some do.
IMPATIENT = """
import os, sys, time
from pykbroker.client.client import Client, parse_bootstrap
assert os.environ["KAFKA_BOOTSTRAP_SERVERS"] == sys.argv[1]
with Client(parse_bootstrap(sys.argv[1]), timeout_s=60) as client:
    for _ in range(4):
        begun = time.monotonic()
        client.metadata([])
        if time.monotonic() - begun > float(sys.argv[2]):
            sys.exit("too slow for me")
"""
AT = ("--brokers", "1", "--profile", "overload", "--intensity", "9")


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, ...]:
    program = tmp_path / "impatient.py"
    program.write_text(IMPATIENT)
    return "--", sys.executable, str(program), "{bootstrap}"


@pytest.mark.deep
def test_a_program_that_fails_by_some_seeds_keeps_their_tapes(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    tapes = tmp_path / "tapes"
    found = run("chaos", "--seeds", "1", "--tapes", str(tapes), "--json", *AT, *command, "0.0")
    assert found.status == 1
    failed = json.loads(found.out)["failed"]
    assert [each["seed"] for each in failed] == [1]
    assert "too slow for me" in (tapes / "1.out").read_text()
    again = run("chaos", "--replay", str(tapes / "1.tape"), *AT, *command, "60")
    assert (again.status, "passes" in again.err) == (0, True)
    assert "--replay does what is on the tape, whatever --profile and --intensity may say." in again.err
    least = run("chaos", "--shrink", str(tapes / "1.tape"), "--tapes", str(tapes), "--json", *AT, *command, "0.0")
    assert "--shrink leaves out of what is on the tape, whatever --profile and --intensity may say." in least.err
    assert (least.status, json.loads(least.out)["decisions"]) == (1, [])  # it fails by no chaos at all
    assert ChaosTape.of_lines(Path(json.loads(least.out)["tape"]).read_text().splitlines()).decisions == ()


def test_a_program_that_passes_leaves_nothing(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    found = run("chaos", "--seeds", "1", "--tapes", str(tmp_path / "tapes"), *AT, *command, "60")
    assert (found.status, found.out) == (0, "0 of 1 seeds failed\n")
    assert list((tmp_path / "tapes").iterdir()) == []


def test_a_program_that_hangs_is_ended_with_all_that_it_started(run: Run, tmp_path: Path) -> None:
    hangs = ("sh", "-c", f"sleep 600 & echo $! > {tmp_path}/pid; wait")
    found = run("chaos", "--seeds", "1", "--limit", "1s", "--tapes", str(tmp_path / "tapes"), *AT, "--", *hangs)
    assert (found.status, "took too long" in found.out) == (1, True)
    stat = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    assert not stat.exists() or stat.read_text().split()[2] == "Z"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--profile", "none"), "no chaos profile"),
        (("--intensity", "0"), "intensity"),
        (("--limit", "soon"), "--limit"),
        (("--set", "a"), "NAME=VALUE"),
        (("--replay", "a", "--shrink", "b"), "choose one"),
        (("--replay", "/no/such/tape"), "/no/such/tape cannot be read: No such file"),
        (("--shrink", "/"), "/ cannot be read: Is a directory"),
        (("--set", "nope=1"), "Kafka has no broker setting nope"),
        (("--set", "num.partition=1"), "did you mean num.partitions?"),
        (("--quiet-after", "-5s"), "--quiet-after"),
        (("--seeds", "-1"), "--seeds"),
        (("--first", "-1"), "--first"),
        (("--brokers", "0"), "--brokers"),
        (("--set", "num.partitions=x"), "Invalid value x for configuration num.partitions"),
        (("--set", "listeners=PLAINTEXT://192.0.2.1:0"), "do not start"),
    ],
)
@pytest.mark.deep(but=4)
def test_what_cannot_be_is_said_and_nothing_run(run: Run, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    found = run("chaos", "--tapes", str(tmp_path), *words, "--", "touch", str(tmp_path / "ran"))
    assert found.status in (1, 2)
    assert said in found.err
    assert not (tmp_path / "ran").exists()


TAPE = b'{"tape": 1, "chaos": "7"}\n'


@pytest.mark.parametrize(
    ("tape", "said"),
    [
        (b"", "this one is empty"),
        (b"\xff\xfe", "it is no text"),
        (b'{"tape": 2, "chaos": "7"}\n', "a tape of version 2, and this is read: 1"),
        (b'{"tape": 1, "chaos": "-7"}\n', "the seed of chaos is a whole number"),
        (TAPE + b'{"client": "a", "ap\n{}\n', "line 2 of the tape is no JSON"),
        (
            TAPE + b'{"at_ms": -5, "outcome": "broker lost", "broker": 1, "down_ms": 5}\n',
            "line 2 of the tape is nothing",
        ),
        (
            TAPE + b'{"at_ms": 5, "outcome": "broker lost", "broker": 7, "down_ms": 5}\n',
            "a broker 7, and these are: 1;",
        ),
    ],
)
@pytest.mark.parametrize("how", ["--replay", "--shrink"])
@pytest.mark.deep(but=4)
def test_a_tape_that_cannot_be_played(run: Run, tmp_path: Path, how: str, tape: bytes, said: str) -> None:
    (tmp_path / "a.tape").write_bytes(tape)
    found = run(
        "chaos", *AT, how, str(tmp_path / "a.tape"), "--tapes", str(tmp_path), "--", "touch", str(tmp_path / "ran")
    )
    assert (found.status, said in found.err, "Traceback" in found.err) == (1, True, False), found.err
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("program", "said"), [("/no/such/program", "cannot be started"), ("", "an empty word")])
def test_a_program_that_is_not_there(run: Run, tmp_path: Path, program: str, said: str) -> None:
    found = run("chaos", "--seeds", "1", "--tapes", str(tmp_path), *AT, "--", program)
    assert (found.status > 0, said in found.err) == (True, True)


@pytest.mark.deep
def test_a_tape_by_which_the_program_passes_leaves_no_least_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.tape").write_bytes(TAPE)
    found = run("chaos", *AT, "--shrink", str(tmp_path / "a.tape"), "--tapes", str(tmp_path / "tapes"), "--", "true")
    assert (found.status, "passes by this tape" in found.out) == (0, True)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["a.tape"]
