"""The Pythons of a machine: where they are looked for, and what is said of those that are not there."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scripts.jars import ROOT
from scripts.pythons import SUPPORTED, there


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of commands that say which Python they are, and nowhere else to look for one."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.delenv("PYKBROKER_PYTHONS", raising=False)
    return tmp_path


def python(file: Path, minor: int) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\necho '(3, {minor})'\n")
    file.chmod(0o755)
    return str(file)


def test_they_are_found_on_the_path_in_pyenv_and_by_name(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_pyenv = python(made / "pyenv/versions/3.92.1/bin/python", 92)
    on_path = python(made / "path/python3.93", 93)
    named = python(made / "somewhere/python", 94)
    assert there(range(91, 95)) == {92: of_pyenv, 93: on_path}
    monkeypatch.setenv("PYKBROKER_PYTHONS", os.pathsep.join((str(made / "nowhere"), named)))
    assert there(range(91, 95)) == {92: of_pyenv, 93: on_path, 94: named}


def test_a_command_that_is_another_python_is_passed_over(made: Path) -> None:
    """As pyenv's on the path, which may say that there is none of this version."""
    python(made / "path/python3.92", 91)
    assert there([92]) == {}
    of_pyenv = python(made / "pyenv/versions/3.92.1/bin/python", 92)
    assert there([92]) == {92: of_pyenv}


def test_the_running_one_is_no_other_and_what_is_missing_is_named(made: Path) -> None:
    other, *missing = (minor for minor in SUPPORTED if minor != sys.version_info[1])
    command = python(made / "path" / f"python3.{other}", other)
    asked = [sys.executable, "-m", "scripts.pythons"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == f"3.{other} {command}\n"
    assert done.stderr.splitlines() == [f"There is no Python 3.{each} here: nothing is run on it." for each in missing]


def test_what_is_named_and_is_none_of_them_is_told(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, *_ = (minor for minor in SUPPORTED if minor != sys.version_info[1])
    command, nowhere = python(made / "somewhere/python", other), str(made / "nowhere")
    monkeypatch.setenv("PYKBROKER_PYTHONS", os.pathsep.join((nowhere, command)))
    asked = [sys.executable, "-m", "scripts.pythons"]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stderr
    assert f"PYKBROKER_PYTHONS names {nowhere}, which is no Python that pykbroker supports.\n" in told
    assert command not in told


def test_they_are_those_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = [each.rpartition(" ")[2] for each in project["classifiers"] if each.startswith("Programming Language")]
    assert [each for each in versions if "." in each] == [f"3.{minor}" for minor in SUPPORTED]
    assert project["requires-python"] == f">=3.{SUPPORTED[0]}"
