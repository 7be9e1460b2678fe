"""``scripts/NAME --help`` answers from a fresh clone at once: nothing is installed for it, and nothing asked for but Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.harness.clone import clone
from scripts.jars import ROOT

SCRIPTS = sorted(file.name for file in (ROOT / "scripts").iterdir() if file.is_file() and os.access(file, os.X_OK))
#: All that the scripts may ask for: neither Java nor Maven is among it.
TOOLS = ("bash", "dirname")
#: The Python behind the virtual environment that runs this test: it has none of the packages.
PYTHON = os.path.realpath(sys.executable)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clone(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None, tool
        (folder / tool).symlink_to(found)
    return folder


def test_there_are_scripts() -> None:
    assert {"bench", "demo", "serve", "test"} <= set(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_installs_nothing(fresh: Path, tools: Path, name: str, option: str) -> None:
    done = subprocess.run(
        [fresh / "scripts" / name, option],
        env={"PATH": str(tools), "PYTHON": PYTHON, "PYTHONNOUSERSITE": "1", "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: "), done.stdout
    assert not (fresh / ".venv").exists()


@pytest.mark.parametrize("named", ["python9.9", "true-but-no-python"])
def test_a_python_that_is_none_is_named(fresh: Path, tools: Path, tmp_path: Path, named: str) -> None:
    """One sentence, whatever the script; nothing is advised of what is there."""
    (tmp_path / "true-but-no-python").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "true-but-no-python").chmod(0o755)
    for name in ("test", "serve"):
        done = subprocess.run(
            [fresh / "scripts" / name],
            env={"PATH": f"{tools}:{tmp_path}", "PYTHON": named},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr == f"PYTHON names {named}, which is no command that runs Python 3.11 or later.\n"
