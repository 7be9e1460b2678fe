"""Runs a client's own test suite under pytest: each case is a subtest, and failing cases must be excused by name.

The suites come with the clients' packages and are downloaded when they run; the repository has none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

import pytest

from scripts.jars import ROOT

#: Where packages are unpacked.
UNPACKED = ROOT / "build" / "client-suites"

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class SuiteCase:
    """One case of a suite. ``said`` is the end of a failure's output, or the reason for a skip."""

    name: str
    outcome: Outcome
    said: str = ""


class Excuses:
    """Cases that need not pass: patterns of whole names, with reasons."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        self._reasons = {re.compile(pattern): reason for pattern, reason in reasons.items()}
        self._used: set[re.Pattern[str]] = set()

    def reason(self, name: str) -> str | None:
        """Return why the case with this name need not pass; None if nothing excuses it."""
        for pattern, reason in self._reasons.items():
            if pattern.fullmatch(name):
                self._used.add(pattern)
                return reason
        return None

    @property
    def unused(self) -> list[str]:
        """Return patterns that have excused nothing, which should be removed."""
        return [pattern.pattern for pattern in self._reasons if pattern not in self._used]


def check(cases: Iterable[SuiteCase], excuses: Excuses, subtests: pytest.Subtests) -> None:
    """Report every case. Excused cases count as skipped, whether they were skipped or failed.

    A skip without an excuse is a failure, and so is an unused excuse. Fails without any case.
    """
    cases = list(cases)
    assert cases, "the suite ran no case"
    for case in cases:
        with subtests.test(msg=case.name):
            if case.outcome == "passed":
                continue
            reason = excuses.reason(case.name)
            if reason is not None:
                pytest.skip(reason)
            if case.outcome == "skipped":
                pytest.fail(f"skipped, and nothing excuses it; the suite says: {case.said}", pytrace=False)
            pytest.fail(case.said or "failed, without a word", pytrace=False)
    assert not excuses.unused, f"excused no longer, strike them from the list: {excuses.unused}"


def junit_cases(report: Path) -> Iterator[SuiteCase]:
    """Return the cases of a JUnit XML report, as pytest writes it."""
    for case in ET.parse(report).iter("testcase"):
        module = case.get("classname", "").rpartition(".")[2]
        name = f"{module}::{case.get('name')}"
        failure = next((found for kind in ("failure", "error") if (found := case.find(kind)) is not None), None)
        skipped = case.find("skipped")
        if failure is not None:
            yield SuiteCase(name, "failed", f"{failure.get('message')}\n{(failure.text or '')[-3000:]}")
        elif skipped is not None:
            yield SuiteCase(name, "skipped", skipped.get("message") or "")
        else:
            yield SuiteCase(name, "passed")
