"""Patterns against many names: in tasks of a bounded size, and against new names only."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from pykbroker.coordination.groups.matching import TopicPatterns, those_of
from pykbroker.coordination.groups.patterns import InvalidPattern, compile_pattern
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.runtime import Runtime, run_inline
from pykbroker.runtime.waits import Deferred

#: Kafka accepts it; it has some eight thousand instructions.
LARGE = "((.?){30}){30}[z5]"


class Threads:
    """A runtime whose tasks run when the test says so; ``sizes`` are the numbers of names that they were given."""

    def __init__(self) -> None:
        self.runtime = Runtime(ManualClock(), random.Random(1))
        self.runtime.offload_read = self._later
        self.sizes: list[int] = []
        self.waiting: list[Callable[[], None]] = []

    def _later(self, function: Callable[..., Any], names: list[str]) -> Deferred[Any]:
        self.sizes.append(len(names))
        done: Deferred[Any] = Deferred()
        self.waiting.append(lambda: run_inline(function, names).pass_to(done))
        return done

    def run(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


def test_a_task_matches_few_names_against_a_large_pattern_and_many_against_a_small_one() -> None:
    threads = Threads()
    names = [f"topic-{number}" for number in range(5000)]
    small = those_of(threads.runtime, compile_pattern("topic-.*[05]"), names)
    threads.run()
    assert small.value == [name for name in names if name[-1] in "05"]
    assert max(threads.sizes) == 2000
    threads.sizes.clear()
    large = compile_pattern(LARGE)
    found = those_of(threads.runtime, large, names[:200])
    threads.run()
    assert found.value == [name for name in names[:200] if name.endswith("5")]
    assert max(threads.sizes) * large.size <= 200_000


def test_without_threads_the_result_is_there_at_once_however_many_tasks_it_takes() -> None:
    threads = Threads()
    threads.runtime.offload_read = run_inline
    assert len(those_of(threads.runtime, compile_pattern(LARGE), ["5"] * 40_000).value) == 40_000


def test_a_known_pattern_is_matched_against_new_names_only() -> None:
    threads = Threads()
    topics = TopicPatterns(threads.runtime)
    first = topics.topics_like("a.*", frozenset({"a1", "a2", "b1"}))
    threads.run()
    assert first.value == {"a1", "a2"}
    assert topics.topics_like("a.*", frozenset({"b1", "a2", "a1"})).value == {"a1", "a2"}
    assert threads.sizes == [3]
    second = topics.topics_like("a.*", frozenset({"a2", "a3", "b1"}))
    threads.run()
    assert second.value == {"a2", "a3"}
    assert threads.sizes == [3, 1]


def test_few_names_are_matched_at_once_where_that_is_allowed() -> None:
    threads = Threads()
    topics = TopicPatterns(threads.runtime)
    names = frozenset({"a1", "a2", "b1"})
    assert topics.topics_like("a.*", names, at_once=True).value == {"a1", "a2"}
    assert topics.topics_like("a.*", names).value == {"a1", "a2"}
    assert threads.sizes == []
    large = topics.topics_like(LARGE, names, at_once=True)
    many = topics.topics_like("b.*", frozenset(f"b{number}" for number in range(5000)), at_once=True)
    assert not large.done
    assert not many.done
    threads.run()
    assert (large.value, len(many.value)) == (set(), 5000)


def test_the_least_recently_used_patterns_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pykbroker.coordination.groups.matching._REMEMBERED", 2)
    threads = Threads()
    topics = TopicPatterns(threads.runtime)
    for pattern in ("a", "b", "c", "a"):
        topics.topics_like(pattern, frozenset("abc"))
        threads.run()
    assert threads.sizes == [3, 3, 3, 3]


def test_a_pattern_that_does_not_compile() -> None:
    with pytest.raises(InvalidPattern):
        _ = TopicPatterns(Threads().runtime).topics_like("(", frozenset("a")).value
