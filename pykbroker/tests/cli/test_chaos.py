"""``pykbroker chaos``: programs that pass, fail and hang, and what is kept of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pykbroker.faults.chaos_tape import Tape
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
    least = run("chaos", "--shrink", str(tapes / "1.tape"), "--tapes", str(tapes), "--json", *AT, *command, "0.0")
    assert (least.status, json.loads(least.out)["decisions"]) == (1, [])  # it fails by no chaos at all
    assert Tape.of_lines(Path(json.loads(least.out)["tape"]).read_text().splitlines()).decisions == ()


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
        (("--replay", "/no/such/tape"), "cannot be played"),
        (("--set", "num.partitions=x"), "do not start"),
    ],
)
def test_what_cannot_be_is_said(run: Run, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    found = run("chaos", "--tapes", str(tmp_path), *words, "--", "true")
    assert found.status in (1, 2)
    assert said in found.err


def test_a_program_that_is_not_there(run: Run, tmp_path: Path) -> None:
    found = run("chaos", "--seeds", "1", "--tapes", str(tmp_path), *AT, "--", "/no/such/program")
    assert (found.status, "cannot be started" in found.err) == (1, True)
