"""Cases written in another language as pytest tests: one program runs them all and reports each on a line.

The program prints ``CASE name PASS`` or ``CASE name FAIL``; after a failure, lines that begin with ``| `` say why. It
is run for the first case, with all the cases that the session selected.
"""

from __future__ import annotations

import re
import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest

_RESULT = re.compile(r"^CASE (\w+) (PASS|FAIL)")


@dataclass
class ProgramCases(ABC):
    """The cases of one source file. ``names`` are parsed from the source, so collecting tests starts nothing."""

    #: Declaration of a case in the source; the first group is its name.
    declaration: ClassVar[re.Pattern[str]]
    limit_s: ClassVar[float] = 120.0

    source: Path
    _results: dict[str, str] = field(default_factory=dict, init=False)
    _output: str = field(default="", init=False)

    @abstractmethod
    def command(self, bootstrap: str, wanted: list[str]) -> list[str]:
        """Build the program if necessary, and return the command line that runs it."""

    @property
    def names(self) -> list[str]:
        return sorted(self.declaration.findall(self.source.read_text()))

    def check(self, case: str, bootstrap: str, wanted: list[str]) -> None:
        """Fail the running test if the case failed. The first call runs all the wanted cases."""
        if not self._results:
            self._run(self.command(bootstrap, wanted))
        if case not in self._results:
            pytest.fail(f"the program ended before {case}:\n{self._output[-3000:]}", pytrace=False)
        if self._results[case]:
            pytest.fail(self._results[case], pytrace=False)

    def _run(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        try:
            done = subprocess.run(
                command,
                stdout=pipe,
                stderr=subprocess.STDOUT,
                timeout=self.limit_s,
                check=False,
                cwd=self.source.parent,
            )
            self._output = done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            self._output = (late.stdout or b"").decode(errors="replace") + f"\n(killed after {self.limit_s:.0f} s)"
        failing = None
        for line in self._output.splitlines():
            if found := _RESULT.match(line):
                failing = found[1] if found[2] == "FAIL" else None
                self._results[found[1]] = "failed, without a word" if failing else ""
            elif failing and line.startswith("| "):
                said = self._results[failing].removeprefix("failed, without a word")
                self._results[failing] = said + line[2:] + "\n"


def wanted_cases(request: pytest.FixtureRequest) -> list[str]:
    """Return the cases of the running test's module that this session selected."""
    return [
        item.callspec.params["case"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.path == request.path
        and hasattr(item, "callspec")
        and "case" in item.callspec.params
    ]
