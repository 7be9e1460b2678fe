"""A seed is the same life on every Python from 3.12 on that ``scripts.pythons`` finds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from scripts.jars import ROOT
from scripts.pythons import there

#: Until 3.11 asyncio.wait_for makes a task of what it waits for, which takes other turns.
MINORS = range(12, 20)
#: What the worlds' programs import, in the versions of this environment.
PACKAGES = (
    *("aiokafka", "async-timeout", "packaging", "typing-extensions"),
    *("crc32c", "cramjam", "lz4", "xxhash", "zstandard", "google-re2", "time-machine", "uvloop"),
)


def packages(minor: int) -> Path:
    """A folder with what is imported, installed for that Python if it is not there."""
    folder = ROOT / "build" / "pythons" / f"3.{minor}"
    if not folder.exists():
        wanted = [f"{name}=={version(name)}" for name in PACKAGES]
        words = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--python-version",
            f"3.{minor}",
        ]
        subprocess.run([*words, "--target", str(folder), *wanted], check=True)
    return folder


def hashes(command: str, minor: int) -> dict[str, str]:
    """The hashes of some lives in a process of that Python. The order of a set of strings is the same, too, as by the line that replays a life."""
    done = subprocess.run(
        [command, "-W", "ignore", "-m", "compat_tests.worlds.hashes"],
        cwd=ROOT, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(packages(minor)), str(ROOT)]), "PYTHONHASHSEED": "5"},
    )  # fmt: skip
    reported = json.loads(done.stdout)
    assert reported["python"] == [3, minor]
    found: dict[str, str] = reported["hashes"]
    return found


def test_a_seed_is_the_same_life_on_each_python() -> None:
    found = there(MINORS)
    if len(found) < 2:
        pytest.skip(f"there is no second Python from 3.12 on: {found}")
    lived = {minor: hashes(command, minor) for minor, command in found.items()}
    first, *others = lived.values()
    assert len(set(first.values())) > 30
    for other in others:
        assert other == first
