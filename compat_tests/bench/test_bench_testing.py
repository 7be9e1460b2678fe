"""The bench of what testers wait for runs the tests of other projects, and they pass."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compat_tests.conftest import TARGET
from scripts.bench_testing_job.projects import KINDS, PROJECTS, PythonProject

pytestmark = pytest.mark.skipif("PYKBROKER_LONG" not in os.environ, reason="takes minutes: PYKBROKER_LONG=1")
_IN_PYTEST = ""


@pytest.mark.parametrize("kind", [_IN_PYTEST, "pykbroker"])
@pytest.mark.parametrize(
    "project", [each for each in PROJECTS if isinstance(each, PythonProject)], ids=lambda each: each.name
)
def test_a_project(tmp_path: Path, project: PythonProject, kind: str) -> None:
    if TARGET != "pykbroker":
        pytest.skip("its brokers are its own")
    took = project.run(tmp_path, kind, 2)
    assert took.seconds > 0
    assert "passed" in took.ended
    assert "failed" not in took.ended
    assert "error" not in took.ended
    assert (took.broker is None) == (kind == _IN_PYTEST)
    assert kind in KINDS
