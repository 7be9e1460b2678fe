from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.worlds.tape import FORMAT, BadTape, Tape, magnitude, read, read_file, written


def test_what_was_taken_is_all_that_a_tape_needs() -> None:
    tape = Tape(7)
    streams = [tape.stream(name, 0.1) for name in ("a", "b")]
    chosen = [[stream.choose() for _ in range(200)] for stream in streams]
    made = sum(map(bool, chosen[0] + chosen[1]))
    assert 20 < made < 60
    assert len(tape.taken) == made
    again = Tape(7, tape.taken)
    assert [
        [stream.choose() for _ in range(200)] for stream in (again.stream("a", 0.1), again.stream("b", 0.1))
    ] == chosen


def test_a_choice_left_out_is_calm_and_changes_no_other() -> None:
    taken = {("a", 3): 5, ("a", 7): 9}
    stream = Tape(1, {("a", 7): 9}).stream("a", 1.0)
    assert [stream.choose() for _ in range(9)] == [0, 0, 0, 0, 0, 0, 0, 9, 0]
    assert Tape(1, taken).pick("b", lambda _: 4) == 0


def test_every_choice_may_be_taken_and_none() -> None:
    tape = Tape(1)
    always, never = tape.stream("always", 1.0), tape.stream("never", 0.0)
    assert all(always.choose() for _ in range(50))
    assert not any(never.choose() for _ in range(50))


@given(st.integers(), st.dictionaries(st.tuples(st.text(), st.integers(0)), st.integers(1, 1000)))
def test_a_tape_is_read_as_it_was_written(seed: int, deviations: dict[tuple[str, int], int]) -> None:
    assert read(written(seed, deviations)) == (seed, deviations)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", '{"format": "pykbroker worlds 0"}', '{"format": "pykbroker worlds 1"}', "[" * 100_000),
        '{"format": "pykbroker worlds 1", "seed": 1e400, "deviations": []}',
        *(
            f'{{"format": "{FORMAT}", "seed": 1, "deviations": [{each}]}}'
            for each in (
                *("7", '["x is slow", 0]', '["x is slow", 0, 1001]', '["x is slow", 0, 0]', '["x is slow", -1, 5]'),
                *('["x is slow", 0, true]', '["x is slow", "0", 5]', "[7, 0, 5]", '["x: crash 1 before turn", 0, -4]'),
            )
        ),
    ],
)
def test_another_tape_is_refused(text: str) -> None:
    with pytest.raises(BadTape, match="pykbroker worlds 1"):
        read(text)


def test_a_moment_is_no_magnitude() -> None:
    text = written(1, {("x: crash 1 before turn", 0): 4000})
    assert read(text) == (1, {("x: crash 1 before turn", 0): 4000})


def test_a_file_that_is_no_tape(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name, words in (("missing", "No such file"), (".", "cannot be read"), ("bytes", "is no text")):
        with pytest.raises(BadTape, match=words):
            read_file(tmp_path / name)


def test_magnitudes_are_between_the_least_and_the_most() -> None:
    assert magnitude(1000, 0.001, 2.0) == 2.0
    assert 0.001 < magnitude(1, 0.001, 2.0) < 0.002
