"""Replication's limits against Kafka's class: thousands of events, after each of which both say whether more was used than is allowed."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from compat_tests.harness.java import compile_java, java_command
from pykbroker.replication.throttling import ReplicationQuota
from pykbroker.runtime.rates import Windows

SEEDS = 100


class Event(NamedTuple):
    """``words`` are those of ReplicationQuotas.java."""

    at_ms: int
    words: tuple[str | int, ...]


def test_random_uses() -> None:
    events = [event for seed in range(SEEDS) for event in _uses(random.Random(seed))]
    ours = list(_ours(events))
    for event, our, their in zip(events, ours, _kafkas(events), strict=True):
        assert our == their, event
    assert len(events) / 4 < sum(ours) < len(events) * 3 / 4


def _uses(source: random.Random) -> Iterator[Event]:
    """One quota, with times at which it is above its limit and below it. It begins with a use, since the time before that counts for ours only."""
    now, rate = 0, source.choice([100, 10_000, 1_000_000])
    yield Event(now, ("new", source.randrange(1, 15), source.choice([1, 1, 2, 5])))
    yield Event(now, ("limit", rate))
    for _ in range(100):
        yield Event(now, ("record", source.randrange(rate)))
        for _ in range(source.randrange(3)):
            now += source.choice([0, 1, 7, 499, 1000, source.randrange(3000)])
            yield Event(now, ("look",))
        if source.random() < 0.02:
            now += source.randrange(100_000)
        if source.random() < 0.02:
            rate = source.choice([0, rate, rate * 2, rate // 2 + 1])
            yield Event(now, ("limit", rate))
            rate = rate or 100


def _ours(events: list[Event]) -> Iterator[bool]:
    quota = ReplicationQuota(Windows(), 0)
    for at_ms, (what, *numbers) in events:
        if what == "new":
            number, seconds = map(int, numbers)
            quota = ReplicationQuota(Windows(number, seconds * 1000), at_ms)
        elif what == "limit":
            quota.limit = int(numbers[0])
        elif what == "record":
            quota.record(int(numbers[0]), at_ms)
        yield quota.is_exceeded(at_ms)


def _kafkas(events: list[Event]) -> list[bool]:
    classes = compile_java([Path(__file__).with_name("ReplicationQuotas.java")], "kafka")
    lines = "".join(" ".join(map(str, (event.at_ms, *event.words))) + "\n" for event in events)
    command = java_command("ReplicationQuotas", "kafka", classes=classes)
    done = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [line == "exceeded true" for line in done.stdout.splitlines() if line.startswith("exceeded ")]
