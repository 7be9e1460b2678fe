"""A pytest plugin that writes the outcomes of a session as JSON: ``-p scripts.conformance_job.recorder``.

The path is the environment variable ``CONFORMANCE_RESULT``. Subtests count instead of the test around them.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from scripts.conformance_job.results import Result

_NAME = "conformance-recorder"


class Recorder:
    """Collects the reports of a session."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._passed: list[str] = []
        self._failed: list[str] = []
        self._skipped: list[tuple[str, str]] = []
        self._with_subtests: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        name = report.nodeid
        if isinstance(report, pytest.SubtestReport):
            self._with_subtests.add(name)
            name = f"{name} [{report.context.msg}]"
        elif name in self._with_subtests and report.when == "call" and self._said_by_subtests(report):
            return
        if report.failed:
            self._failed.append(name)
        elif report.skipped:
            self._skipped.append((name, _reason(report)))
        else:
            self._passed.append(name)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)
        elif report.skipped:
            self._skipped.append((report.nodeid, _reason(report)))

    def result(self) -> Result:
        return Result(len(self._passed), self._failed, self._skipped, round(time.monotonic() - self._start, 1))

    def _said_by_subtests(self, report: pytest.TestReport) -> bool:
        """Whether this report of a test only repeats its subtests' reports."""
        return not report.failed or any(failed.startswith(f"{report.nodeid} [") for failed in self._failed)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(getattr(report, "wasxfail", report.longrepr))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(), _NAME)


def pytest_sessionfinish(session: pytest.Session) -> None:
    recorder = session.config.pluginmanager.get_plugin(_NAME)
    assert isinstance(recorder, Recorder)
    Path(os.environ["CONFORMANCE_RESULT"]).write_text(json.dumps(recorder.result().as_json(), indent=1))
