"""What members of a share group have written down, and the judgement of it.

A member is a process. When a record was acquired for it is known from both sides only: after the record was produced and the process
was started, and before the member wrote it down. The judgement finds fault with what is wrong at every time between.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

#: A partition and an offset.
Place = tuple[int, int]


@dataclass
class Delivery:
    """A record at a member; times in seconds of the monotonic clock."""

    member: str
    count: int
    verdict: str
    #: It was acquired after the first and before the second.
    since: float
    got: float
    #: Until then nobody else may have it: the member says something of it, or dies, or the lock is over.
    until: float
    #: When the member began to say something of it; never, if it did not.
    said: float = math.inf
    #: When it was answered that what the member said was done; never, if it was not.
    done: float = math.inf


@dataclass
class Process:
    """A member's life, and its lines."""

    file: Path
    started: float
    died: float = math.inf

    def lines(self) -> list[list[str]]:
        """Its lines as words; one that was cut short is none."""
        whole, _, _ = self.file.read_text().rpartition("\n") if self.file.exists() else ("", "", "")
        return [line.split() for line in whole.splitlines() if line]


@dataclass
class Ledger:
    """All that was produced, delivered and said. ``lock_s`` and ``limit`` are settings of the group."""

    lock_s: float
    limit: int
    processes: list[Process] = field(default_factory=list)
    #: When leaders moved, or were killed: between these times.
    moves: list[tuple[float, float]] = field(default_factory=list)
    #: Each record's value, and when it was sent.
    produced: dict[Place, tuple[str, float]] = field(default_factory=dict)
    #: The letters of each record.
    letters: Counter[Place] = field(default_factory=Counter)

    def got(self) -> list[Place]:
        """What was delivered so far, as often as it was written down."""
        lines = [words for process in self.processes for words in process.lines()]
        return [(int(words[2]), int(words[3])) for words in lines if words[0] == "got"]

    def deliveries(self) -> dict[Place, list[Delivery]]:
        """The deliveries of each record, in the order in which they were written down."""
        found = defaultdict(list)
        for process in self.processes:
            held: dict[Place, Delivery] = {}
            for kind, time, *rest in process.lines():
                now = int(time) / 1e9
                if kind == "got":
                    partition, offset, count, verdict = rest
                    place = int(partition), int(offset)
                    since = max(process.started, self.produced[place][1])
                    until = min(process.died, since + self.lock_s)
                    held[place] = Delivery(process.file.stem, int(count), verdict, since, now, until)
                    found[place].append(held[place])
                elif kind == "says":
                    for each in held.values():
                        each.until, each.said = min(each.until, now), min(each.said, now)
                elif kind == "said" and rest[2] == "ok":
                    held[int(rest[0]), int(rest[1])].done = now
        return {place: sorted(each, key=lambda one: one.got) for place, each in found.items()}

    def faults(self) -> list[str]:
        """Everything that must not be, a line each."""
        found = []
        deliveries = self.deliveries()
        for place, (value, _) in self.produced.items():
            those = deliveries.get(place, [])
            found += [f"{place} {value}: {fault}: {those}" for fault in self._of_one(value, those, self.letters[place])]
        found += [f"a letter for {place}, which was not produced" for place in self.letters.keys() - self.produced]
        return found

    def _of_one(self, value: str, those: list[Delivery], letters: int) -> list[str]:
        accepted = any(each.verdict == "accept" and each.said < math.inf for each in those)
        faults = {
            "lost": not accepted and not letters,
            "given up without a letter": not value.startswith("good") and not letters,
            "more than one letter": letters > 1,
            "never delivered": not those,
            "delivered beyond the limit": any(each.count > self.limit for each in those),
            "two had it": any(self._both(one, other) for one in those for other in those if one is not other),
            "delivered again": any(self._again(one, other) for one in those for other in those),
        }
        return [fault for fault, is_so in faults.items() if is_so]

    def _both(self, one: Delivery, other: Delivery) -> bool:
        """Whether one was acquired while the other held it, whichever was first."""
        if other.got >= one.until or one.got >= other.until:
            return False
        return not any(
            begun <= max(one.got, other.got) and min(one.since, other.since) <= over for begun, over in self.moves
        )

    def _again(self, one: Delivery, other: Delivery) -> bool:
        """Whether one was done with, or released, and a later delivery knows nothing of it."""
        if other.since <= one.done:
            return False
        return other.count <= one.count if one.verdict == "release" else True

    def figures(self) -> str:
        """What was seen, in a line."""
        deliveries = [each for those in self.deliveries().values() for each in those]
        counts = Counter(each.count for each in deliveries)
        return (
            f"{len(self.produced)} records, {len(deliveries)} deliveries (by count {dict(sorted(counts.items()))}), "
            f"{sum(each.done < math.inf for each in deliveries)} answered, "
            f"{sum(each.until > each.got for each in deliveries)} held by one for certain, {sum(self.letters.values())} letters; "
            f"{len(self.moves)} moves or kills of leaders, {sum(each.died < math.inf for each in self.processes)} of members; "
            f"faults: {len(self.faults())}"
        )
