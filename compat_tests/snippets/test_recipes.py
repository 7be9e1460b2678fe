"""The recipes of docs/recipes/ that are files of other languages: each is run as it stands, with the tools of its language."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.harness.java import QUICK, compile_java, java
from compat_tests.harness.node_packages import installed
from compat_tests.harness.process import ROOT
from scripts.jars import classpath

RECIPES = ROOT / "docs" / "recipes"
LIMIT_S = 300
#: The recipes in Java: the set of jars that each needs, and how many tests it has.
JAVA = {"OrdersTest": ("kafka", 1), "WorkQueueTest": ("kafka", 2), "CountsTest": ("streams", 1)}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The program pykbroker is on the PATH, as where it is installed."""
    program = tmp_path / "bin" / "pykbroker"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m pykbroker "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_recipe_is_here() -> None:
    """But for FastStream's, whose packages compat_tests/published_bugs installs."""
    assert sorted(path.name for path in RECIPES.iterdir()) == [
        *sorted(f"{name}.java" for name in JAVA),
        "orders.test.mjs",
        "test_faststream.py",
    ]


@pytest.mark.skipif(not (shutil.which("node") and shutil.which("npm")), reason="Node is not installed")
def test_in_javascript(environment: dict[str, str], tmp_path: Path) -> None:
    packages = installed(ROOT / "compat_tests" / "kafkajs" / "program" / "package.json")
    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    shutil.copy(RECIPES / "orders.test.mjs", tmp_path)
    said = run(["node", "--test", "--test-reporter=tap", "orders.test.mjs"], environment, tmp_path)
    assert "# pass 1\n" in said


@pytest.mark.parametrize("name", JAVA)
def test_in_java(name: str, environment: dict[str, str], tmp_path: Path) -> None:
    jars, tests = JAVA[name]
    compiled = compile_java([RECIPES / f"{name}.java"], "junit", jars)
    path = f"{compiled}:{classpath(jars)}"
    launcher = ["-jar", classpath("junit"), "execute", "--class-path", path, "--select-class", name]
    said = run([java(), *QUICK, *launcher], environment, tmp_path)
    assert f"{tests} tests successful" in said
