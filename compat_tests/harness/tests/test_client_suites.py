"""Suites of clients as subtests: what is excused, what must be, and reports in JUnit's form."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.harness.client_suites import Excuses, SuiteCase, junit_cases

pytest_plugins = ["pytester"]


def outcomes(cases: list[SuiteCase], reasons: dict[str, str], pytester: pytest.Pytester) -> dict[str, int]:
    """What a pytest counts in which ``check`` gets these cases and excuses."""
    pytester.makepyfile(
        f"""
        from compat_tests.harness.client_suites import Excuses, SuiteCase, check

        def test_suite(subtests):
            check([SuiteCase(*case) for case in {[(c.name, c.outcome, c.said) for c in cases]!r}], Excuses({reasons!r}), subtests)
        """
    )
    return pytester.runpytest_inprocess("-q", "-p", "no:asyncio").parseoutcomes()


PASSED, FAILED, SKIPPED = SuiteCase("a", "passed"), SuiteCase("b::x", "failed", "no"), SuiteCase("c", "skipped", "why")


def test_every_case_is_a_subtest(pytester: pytest.Pytester) -> None:
    assert outcomes([PASSED, SuiteCase("a2", "passed")], {}, pytester) == {"passed": 1, "subtests": 2}


def test_excused_cases_are_skipped_whether_they_fail_or_not(pytester: pytest.Pytester) -> None:
    counted = outcomes([PASSED, FAILED, SKIPPED], {"b::.*": "later", "c": "never"}, pytester)
    assert counted == {"passed": 1, "skipped": 2, "subtests": 1}


def test_a_failure_fails(pytester: pytest.Pytester) -> None:
    assert outcomes([PASSED, FAILED], {}, pytester)["failed"] == 2  # the subtest, and the test around it


def test_a_skip_that_nothing_excuses_fails(pytester: pytest.Pytester) -> None:
    assert outcomes([PASSED, SKIPPED], {}, pytester)["failed"] == 2


def test_an_excuse_that_nothing_needs_fails(pytester: pytest.Pytester) -> None:
    assert outcomes([PASSED], {"a": "it used to fail"}, pytester)["failed"] == 1


def test_no_case_at_all_fails(pytester: pytest.Pytester) -> None:
    assert outcomes([], {}, pytester) == {"failed": 1}


def test_excuses_are_for_whole_names() -> None:
    excuses = Excuses({"TestA": "no", r"TestB/.*": "later"})
    assert (excuses.reason("TestA"), excuses.reason("TestAll"), excuses.reason("TestB/x")) == ("no", None, "later")
    assert Excuses({"TestA": "no"}).unused == ["TestA"]


def test_a_report_in_junits_form(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        """<testsuites><testsuite>
        <testcase classname="test.test_a" name="test_ok"/>
        <testcase classname="test.test_a" name="test_no"><failure message="assert 1 == 2">lines</failure></testcase>
        <testcase classname="test.test_a" name="test_broken"><error message="in setup">more</error></testcase>
        <testcase classname="test.test_b.TestC" name="test_later[x]"><skipped message="not yet">where</skipped></testcase>
        </testsuite></testsuites>"""
    )
    assert list(junit_cases(report)) == [
        SuiteCase("test_a::test_ok", "passed"),
        SuiteCase("test_a::test_no", "failed", "assert 1 == 2\nlines"),
        SuiteCase("test_a::test_broken", "failed", "in setup\nmore"),
        SuiteCase("TestC::test_later[x]", "skipped", "not yet"),
    ]
