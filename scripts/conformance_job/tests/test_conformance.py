"""Results, the recorder of a session, and the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.conformance_job import report
from scripts.conformance_job.results import Result
from scripts.conformance_job.suites import SUITES, Suite, unlisted

pytest_plugins = ["pytester"]

SESSION = """
import pytest

def test_passes(): pass

@pytest.mark.parametrize("number", [1, 2])
def test_fails(number): assert number == 1

@pytest.mark.skip(reason="no Go | here")
def test_skipped(): pass

@pytest.fixture
def broken(): raise RuntimeError("no broker")

def test_not_set_up(broken): pass

def test_suite(subtests):
    for name in "abc":
        with subtests.test(msg=name):
            assert name != "b"
            if name == "c":
                pytest.skip("later")

def test_suite_fails_by_itself(subtests):
    with subtests.test(msg="a"): pass
    raise AssertionError("nothing needs the excuse")
"""


@pytest.fixture
def recorded(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Result:
    """What the recorder says of ``SESSION``."""
    file = pytester.path / "result.json"
    monkeypatch.setenv("CONFORMANCE_RESULT", str(file))
    pytester.makepyfile(test_it=SESSION)
    pytester.runpytest_inprocess("-p", "scripts.conformance_job.recorder", "-p", "no:asyncio")
    return Result.from_json(json.loads(file.read_text()))


def test_a_session_is_recorded_by_cases(recorded: Result) -> None:
    assert recorded.passed == 4  # test_passes, test_fails[1], two subtests
    assert recorded.failed == [
        "test_it.py::test_fails[2]",
        "test_it.py::test_not_set_up",
        "test_it.py::test_suite [b]",
        "test_it.py::test_suite_fails_by_itself",
    ]
    assert recorded.skipped == [("test_it.py::test_skipped", "no Go | here"), ("test_it.py::test_suite [c]", "later")]


def test_a_module_that_cannot_be_imported_has_failed(pytester: pytest.Pytester, monkeypatch) -> None:
    file = pytester.path / "result.json"
    monkeypatch.setenv("CONFORMANCE_RESULT", str(file))
    pytester.makepyfile(test_it="import no_such_module")
    pytester.runpytest_inprocess("-p", "scripts.conformance_job.recorder", "-p", "no:asyncio")
    assert Result.from_json(json.loads(file.read_text())).failed == ["test_it.py"]


def test_results_come_back_from_json() -> None:
    result = Result(3, ["a"], [("b", "why")], 1.5, "abc1234")
    assert Result.from_json(json.loads(json.dumps(result.as_json()))) == result


BOTH = Suite("both", "client", "what it does")
OURS = Suite("ours", "commands", "what they do", only_ours="about our own process")
NEVER = Suite("never", "none", "nothing")


def test_the_table() -> None:
    skipped = [("x", "no Go | here"), ("y", "later"), ("z", "later")]
    results = {
        "pykbroker": {"both": Result(12, ["both::bad"], skipped, 7.6), "ours": Result(2, seconds=1)},
        "kafka": {"both": Result(15)},
    }
    lines = report.markdown([BOTH, OURS, NEVER], results).splitlines()
    assert lines[2:4] == [
        "| client | `both` | what it does | 12 | 1 | 2: later; 1: no Go \\| here | 8 | 15 | 0 | 0 |",
        "| commands | `ours` | what they do | 2 | 0 | 0 | 1 |  |  | about our own process |",
    ]
    assert lines[4:] == ["", "Failed against pykbroker:", "", "- both::bad"]
    assert [line.count("|") - line.count("\\|") for line in lines[:4]] == [11] * 4


def test_what_has_not_run_is_said() -> None:
    (row,) = report.markdown([BOTH], {"pykbroker": {"both": Result(1)}, "kafka": {}}).splitlines()[2:]
    assert row.endswith("|  |  | not run |")


def test_the_json_has_everything() -> None:
    first, last = report.as_json([BOTH, NEVER], {"pykbroker": {"both": Result(1, ["a"])}, "kafka": {}})
    assert first["pykbroker"]["failed"] == ["a"]
    assert (first["kafka"], last["pykbroker"], last["suite"]) == (None, None, "never")


def test_every_folder_of_tests_is_a_suite() -> None:
    """A new folder in compat_tests wants a row in scripts/conformance_job/suites.py."""
    assert unlisted() == []
    assert len({suite.name for suite in SUITES}) == len(SUITES)


def test_a_folder_that_no_suite_names_is_found(tmp_path: Path) -> None:
    for folder in ("java", "harness", "new", "suites/newer"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").touch()
    assert unlisted(tmp_path) == ["new", "suites/newer"]
