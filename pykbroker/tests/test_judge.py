from __future__ import annotations

import pytest

from pykbroker.judge import Misjudged, Occurrence, check, findings, of_effects

READ = [Occurrence(number, number % 2, f"in-0@{number}") for number in range(4)]


def _kinds(*written: list[int], guarantee: str = "exactly-once", in_order: bool = False) -> list[tuple[str, object]]:
    told = findings(READ, [of_effects(each) for each in written], guarantee, in_order=in_order)
    return [(each.kind, each.identity) for each in told]


def test_each_guarantee_has_its_own_faults() -> None:
    assert _kinds([0, 1, 2, 3]) == []
    assert _kinds([0, 1, 1, 3]) == [("doubled", 1), ("lost", 2)]
    assert _kinds([0, 1, 1, 3], guarantee="at-least-once") == [("lost", 2)]
    assert _kinds([0, 1, 1, 3], guarantee="at-most-once") == [("doubled", 1)]
    with pytest.raises(ValueError, match="at-most-once"):
        _kinds([], guarantee="twice")


def test_a_record_in_one_target_alone_is_torn() -> None:
    assert _kinds([0, 1, 2, 3], [0, 1, 3]) == [("torn", 2)]
    assert _kinds([0, 1, 2, 3], [0, 1, 3], guarantee="at-least-once") == [("lost", 2)]
    assert _kinds([0, 1, 3], [0, 1, 3]) == [("lost", 2)]


def test_order_is_that_of_each_key_and_of_first_times() -> None:
    assert _kinds([1, 0, 3, 2], in_order=True) == []
    assert _kinds([2, 1, 0, 3], in_order=True) == [("out of order", 0)]
    assert _kinds([0, 2, 0, 1, 3], guarantee="at-least-once", in_order=True) == []


def test_what_was_never_read_is_told() -> None:
    assert _kinds([0, 1, 2, 3, 9], guarantee="at-least-once") == [("unasked", 9)]


def test_what_was_not_committed_is_read_too_early() -> None:
    uncommitted = [Occurrence(9, None, "in-0@7")]
    found = findings(READ, [of_effects([0, 1, 2, 3, 9, 8])], "at-least-once", uncommitted=lambda: uncommitted)
    assert list(map(str, found)) == ["read too early: 9 (in-0@7, effect 4)", "unasked: 8 (effect 5)"]


def test_the_text_has_places_and_is_short() -> None:
    with pytest.raises(Misjudged) as raised:
        check(findings(READ, [of_effects([0, 0])], "exactly-once"), "exactly-once")
    assert "doubled: 0 (in-0@0, effect 0, effect 1)" in str(raised.value)
    assert "lost: 3 (in-0@3)" in str(raised.value)
    many = [Occurrence(number, None, "p") for number in range(100)]
    with pytest.raises(Misjudged, match="and 95 more lost"):
        check(findings(many, [[]], "at-least-once"), "at-least-once")
