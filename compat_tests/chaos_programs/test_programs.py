"""Programs that are written correctly lose and double nothing under chaos: two seeds here, 500 each with PYKBROKER_LONG=1."""

from __future__ import annotations

import shutil

import pytest

from compat_tests.chaos_programs.programs import PROGRAMS
from compat_tests.chaos_programs.shop import running, runs
from compat_tests.conftest import LONG

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_judge_finds_nothing(name: str) -> None:
    if name == "franz-go" and shutil.which("go") is None:
        pytest.skip("Go is not installed")
    with running(name) as program:
        lived = list(runs(program, range(1, 501 if LONG else 3), at_once=6 if LONG else 2))
    assert [each for each in lived if each.found] == []
    assert all(each.befell for each in lived)
