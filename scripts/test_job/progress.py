"""A pytest plugin that writes the progress of the run to the file TEST_PROGRESS, for another process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Progress(Path(os.environ["TEST_PROGRESS"])))


class Progress:
    """Writes ``finished wanted failed`` and, on a line of its own, the test that runs, at each test's start and end."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._finished = self._wanted = self._failed = 0
        self._running = ""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._wanted = len(session.items)
        self._write()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._running = nodeid
        self._write()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed += report.failed
        if report.when == "teardown":
            self._finished += 1
            self._write()

    def _write(self) -> None:
        self._file.write_text(f"{self._finished} {self._wanted} {self._failed}\n{self._running}\n")
