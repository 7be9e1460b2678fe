from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.faults.chaos import Chaos, RequestChaos
from pykbroker.faults.chaos_tape import FARTHEST_MS, VERSION, BadChaosTape, ChaosTape, ClusterOutcome, Decision, header
from pykbroker.wire.apis import ApiKey


def _tape(seed: int, client: str) -> ChaosTape:
    """A tape of what a seed does to two APIs, and of two things that befell the cluster."""
    told: list[Decision] = []
    chaos = Chaos(seed, intensity=4)
    befalls = RequestChaos(chaos, told.append)
    for _ in range(40):
        for api, version in ((ApiKey.PRODUCE, 9), (ApiKey.FETCH, 12), (ApiKey.METADATA, 9)):
            befalls.choose(client, api, version)
    told += [ClusterOutcome(5, "leader moved", 2, "t", 0), ClusterOutcome(9, "broker lost", 1, down_ms=700)]
    told += [ClusterOutcome(9, "clock step", 1, down_ms=700, ahead_ms=each) for each in (FARTHEST_MS, -128)]
    return ChaosTape(str(chaos), tuple(told))


@given(st.integers(0, 99), st.text(max_size=5))
def test_what_is_written_is_read(seed: int, client: str) -> None:
    tape = _tape(seed, client)
    assert ChaosTape.of_lines(line + "\n" for line in tape.lines()) == tape


def test_a_torn_last_line_is_left_out() -> None:
    lines = [line + "\n" for line in _tape(1, "c").lines()]
    assert ChaosTape.of_lines([*lines[:-1], lines[-1][:20]]).decisions == ChaosTape.of_lines(lines[:-1]).decisions
    with pytest.raises(BadChaosTape, match=f"line {len(lines) - 1} of the tape is no JSON"):
        ChaosTape.of_lines([*lines[:-2], lines[-2][:20], lines[-1]])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "empty"),
        (["[]"], "first line"),
        (["nonsense"], "first line"),
        ([json.dumps({"tape": VERSION + 1, "chaos": "7"})], f"of version {VERSION + 1}"),
        ([header("7"), "[" * 50_000, "{}"], "line 2"),
        ([header("7"), "7"], "line 2"),
        ([header("7"), '{"outcome": "no such kind"}'], "line 2"),
        ([header("7"), '{"outcome": "slow request", "client": "c", "api": "Produce", "number": 1, "fault": {"error": "X"}}'], "line 2"),
        ([header("7"), '{"outcome": "short fetch", "client": "c", "api": "Produce", "number": 1, "fault": {"api": "Fetch", "short": true}}'], "line 2"),
        ([header("7"), '{"outcome": "broker lost", "at_ms": -1, "broker": 1, "down_ms": 1}'], "line 2"),
        ([header("7"), '{"outcome": "broker lost", "at_ms": 1, "broker": true, "down_ms": 1}'], "line 2"),
        ([header("7"), '{"outcome": "broker lost", "at_ms": 1, "broker": 1, "down_ms": 1, "ahead_ms": 5}'], "line 2"),
        ([header("7"), '{"outcome": "clock step", "at_ms": 1, "broker": 1, "down_ms": 1}'], "line 2"),
        ([header("7"), '{"outcome": "clock step", "at_ms": 1, "broker": 1, "down_ms": 1, "ahead_ms": -1000001}'], "line 2"),
        ([header("7"), '{"outcome": "clock step", "at_ms": 1, "broker": 1, "down_ms": 1, "ahead_ms": "far"}'], "line 2"),
        ([header("7"), '{"outcome": "broker lost", "at_ms": 1' + "0" * 400 + ', "broker": 1, "down_ms": 1}'], "line 2"),
    ],
)  # fmt: skip
def test_what_is_no_tape_is_refused(lines: list[str], words: str) -> None:
    with pytest.raises(BadChaosTape, match=words):
        ChaosTape.of_lines(line + "\n" for line in lines)
