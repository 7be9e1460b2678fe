"""Sockets that nobody closed, and who is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.jars import ROOT

#: A cycle, so that the collector finds the socket while a later test runs.
LEAK = """
import socket

def leak():
    class Held: pass
    held = Held()
    held.itself, held.socket = held, socket.create_server(("127.0.0.1", 0))
"""
TESTS = """
import gc
from {module} import leak

def test_that_leaks():
    gc.disable()
    leak()

def test_that_is_blamed():
    gc.enable()
    gc.collect()
"""


def run(folder: Path, module: str, where: Path) -> tuple[int, str]:
    where.mkdir(exist_ok=True)
    (where / f"{module}.py").write_text(LEAK)
    (folder / "test_it.py").write_text(TESTS.format(module=module))
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "scripts.test_job.unclosed",
            "-p",
            "no:cacheprovider",
            "test_it.py",
        ],
        cwd=folder,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(where)]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_a_socket_of_the_tests_fails_and_its_maker_is_named(tmp_path: Path) -> None:
    status, said = run(tmp_path, "leaking_here", tmp_path)
    assert status == 1, said
    assert "leaking_here.py:7 in test_it.py::test_that_leaks" in said


def test_a_socket_of_an_installed_client_is_only_named(tmp_path: Path) -> None:
    status, said = run(tmp_path, "leaking_there", tmp_path / "site-packages")
    assert status == 0, said
    assert "leaking_there.py:7 in test_it.py::test_that_leaks" in said
