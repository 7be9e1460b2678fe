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
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
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
        said = f"{self._finished} {self._wanted} {self._failed}\n{self._running}\n".encode()
        os.pwrite(self._file, said, 0)
        os.ftruncate(self._file, len(said))  # made anew, a file that is closed may wait for its disk
