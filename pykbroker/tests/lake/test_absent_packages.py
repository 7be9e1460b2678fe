"""The tests of the lake where its packages are not installed, as in the environment of ``scripts/test --quick``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HIDING = """
import sys
from importlib.abc import MetaPathFinder

class Hiding(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numpy", "pandas", "pyarrow", "pyspark", "py4j", "fastavro", "grpc_tools", "google"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hiding())

import pytest

sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", sys.argv[1]]))
"""


def test_they_are_skipped_at_their_collection() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", HIDING, str(Path(__file__).parent)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert "test_ledger.py" in ran.stdout
