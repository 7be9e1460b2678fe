"""Lanes of small tests: what is said meanwhile and at the end, and the status."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.test_job.lanes import Lane, run

SOUND = "def test_one(): pass\ndef test_two(): pass\n"
FAULTY = SOUND + "def test_three(): assert 1 == 2, 'the fault'\n"


@pytest.fixture
def lane(tmp_path: Path):
    def make(name: str, tests: str) -> Lane:
        file = tmp_path / f"test_{name}.py"
        file.write_text(tests)
        return Lane(name, ("-q", "-p", "no:cacheprovider", str(file)))

    return make


def test_both_are_run_and_shown_the_last_one_last(lane, tmp_path: Path, capfd) -> None:
    lanes = [lane("above", SOUND), lane("others", SOUND)]
    assert run(lanes, tmp_path / "build") == 0
    said = capfd.readouterr().out
    assert said.count("2 passed") == 2
    assert "above: 2 of 2 (ended); others: 2 of 2 (ended)" in said
    assert said.splitlines()[-1].startswith("2 passed")


@pytest.mark.parametrize("faulty", [0, 1])
def test_a_failure_in_either_lane_is_the_status_and_told(lane, tmp_path: Path, capfd, faulty: int) -> None:
    lanes = [lane(f"lane{number}", FAULTY if number == faulty else SOUND) for number in range(2)]
    assert run(lanes, tmp_path / "build") == 1
    said = capfd.readouterr().out
    assert f"lane{faulty}: 3 of 3, 1 failed (ended)" in said
    assert "the fault" in said


def test_a_lane_that_cannot_start_its_tests_is_a_failure(lane, tmp_path: Path, capfd) -> None:
    lanes = [lane("sound", SOUND), lane("broken", "import nothing_of_this_name\n")]
    assert run(lanes, tmp_path / "build") == 2
    assert "nothing_of_this_name" in capfd.readouterr().out
