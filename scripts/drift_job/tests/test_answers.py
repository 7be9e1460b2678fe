"""What is printed of answers that differ."""

from __future__ import annotations

from scripts.drift_job.answers import Change, once


def test_changes_that_are_alike_have_one_line_and_a_count() -> None:
    alike = ("0", "60000")
    found = [
        Change("A/a v0", "[first].interval_ms", alike),
        Change("A/b v0", "[second].interval_ms", alike),
        Change("A/b v0", "[second].interval_ms", ("0", "1")),
        Change("A/c v1", "IndexError: list index out of range", None),
        Change("A/d v1", "IndexError: list index out of range", None),
        Change("A/e v2", "[0].configs.[a.b.c]", ("1", "2")),
        Change("A/f v2", "[7].configs.[a.b.c]", ("1", "2")),
    ]
    assert list(once(found)) == [
        "A/a v0 [first].interval_ms: 0 is 60000",
        "A/b v0 [second].interval_ms: 0 is 1",
        "A/c v1 IndexError: list index out of range",
        "A/d v1 IndexError: list index out of range",
        "A/e v2 [0].configs.[a.b.c]: 1 is 2",
        "1 more times interval_ms: 0 is 60000",
        "1 more times [a.b.c]: 1 is 2",
    ]
