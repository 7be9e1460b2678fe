"""What counts as a difference where Apache Kafka has several answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from compat_tests.oracle.cases import Case
from compat_tests.oracle.differences import Difference
from compat_tests.oracle.judgement import judged
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey


class Scripted:
    """Answers in this order, one at each asking; ``NAME`` in an answer stands for the asked prefix."""

    def __init__(self, *answers: Any) -> None:
        self.left = list(answers)

    def __call__(self, prefix: str) -> Ask:
        answer = self.left.pop(0)
        answers = [{name: text.replace("NAME", prefix) for name, text in answer.items()}]
        return cast(Ask, type("Asked", (), {"answers": answers, "close": lambda self: None})())


def _judged(theirs: Callable[[str], Ask], *ours: Any) -> tuple[list[str], set[int]]:
    def asks_nothing(ask: Ask) -> None:
        pass

    known = [Difference("*", "*.known", "it is known")]
    return judged(Case(ApiKey.METADATA, asks_nothing, range(1)), 0, theirs, Scripted(*ours), known)


def test_kafka_is_asked_once_where_ours_are_its_first_answers() -> None:
    theirs = Scripted({"topic": "NAME-t"}, {"topic": "another"})
    assert _judged(theirs, {"topic": "NAME-t"}) == ([], set())
    assert len(theirs.left) == 1


def test_an_answer_that_kafka_gives_at_another_moment_is_none_of_ours() -> None:
    moments = Scripted({"topic": "NAME-t", "error": "none"}, {"topic": "NAME-t", "error": "late"})
    assert _judged(moments, {"topic": "NAME-t", "error": "late"}) == ([], set())


def test_what_kafka_never_answers_is_a_difference() -> None:
    theirs = Scripted({"error": "none", "known": "a"}, {"error": "late", "known": "a"}, {"error": "none", "known": "a"})
    unexplained, explained = _judged(theirs, {"error": "wrong", "known": "b"})
    assert [each.split("\n")[0] for each in unexplained] == ["[0].error"]
    assert explained == {0}
    assert theirs.left == []


def test_ours_are_asked_once() -> None:
    theirs = Scripted({"error": "right"}, {"error": "right"}, {"error": "right"})
    assert len(_judged(theirs, {"error": "wrong"}, {"error": "right"})[0]) == 1
