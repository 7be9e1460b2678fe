"""What is read from ``go test -json``."""

from __future__ import annotations

import json
import re
from pathlib import Path

from compat_tests.harness.client_suites import SuiteCase
from compat_tests.harness.go_tests import broker_tests, read_events


def events(*steps: tuple[str, str] | tuple[str, str, str]) -> list[str]:
    """Lines of ``go test -json``: (action, test) or ("output", test, text)."""
    return [
        json.dumps({"Action": action, "Test": test, **({"Output": text[0]} if text else {})})
        for action, test, *text in steps
    ]


def test_outcomes_and_what_was_said() -> None:
    lines = events(
        ("run", "TestA"), ("pass", "TestA"),
        ("run", "TestB"), ("output", "TestB", "    b.go:1: no\n"), ("fail", "TestB"),
        ("run", "TestC"), ("output", "TestC", "    c.go:1: later\n"), ("skip", "TestC"),
    )  # fmt: skip
    assert read_events(["go: downloading something", *lines, '{"Action":"fail"}']) == [
        SuiteCase("TestA", "passed"),
        SuiteCase("TestB", "failed", "    b.go:1: no\n"),
        SuiteCase("TestC", "skipped", "    c.go:1: later\n"),
    ]


def test_a_test_counts_through_its_subtests() -> None:
    lines = events(
        ("run", "TestA"), ("run", "TestA/x"), ("run", "TestA/x/deep"), ("run", "TestA/y"),
        ("fail", "TestA/x/deep"), ("fail", "TestA/x"), ("pass", "TestA/y"), ("fail", "TestA"),
    )  # fmt: skip
    assert [(case.name, case.outcome) for case in read_events(lines)] == [
        ("TestA/x/deep", "failed"),
        ("TestA/y", "passed"),
    ]


def test_a_test_that_fails_after_its_subtests_is_named() -> None:
    lines = events(("run", "TestA"), ("run", "TestA/x"), ("pass", "TestA/x"), ("fail", "TestA"))
    assert [(case.name, case.outcome) for case in read_events(lines)] == [("TestA", "failed"), ("TestA/x", "passed")]


def test_what_never_ended_has_failed() -> None:
    assert [(case.name, case.outcome) for case in read_events(events(("run", "TestA")))] == [("TestA", "failed")]


def test_tests_that_use_a_helper(tmp_path: Path) -> None:
    (tmp_path / "a_test.go").write_text(
        "func TestPure(t *testing.T) {\n\tadd(1)\n}\n\nfunc TestAsks(t *testing.T) {\n\tcl := newClient()\n}\n"
        "func helper() { newClient() }\n"
    )
    (tmp_path / "b.go").write_text("func TestNot(t *testing.T) {\n\tnewClient()\n}\n")
    assert broker_tests(tmp_path, re.compile(r"\bnewClient\(")) == ["TestAsks"]
