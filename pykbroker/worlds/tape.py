"""What a seed decides: streams of choices, of which only those that leave the calm course are kept.

Each thing that can go one way or another (the time that a turn of a host takes, the latency of a segment of a connection, the
moment of a crash) has a stream of its own, so that what one of them does less often does not change what the others do. A choice
is 0, the calm one, or a magnitude from 1 to 1000. A life is repeated by its deviations alone, and shrunk by leaving some out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

#: The largest magnitude of a choice.
MOST: Final = 1000
#: What tapes are written as; one of another version is refused.
FORMAT: Final = "pykbroker worlds 1"

#: How names of choices end that are moments: the numbers of turns, and no magnitudes.
MOMENT: Final = "before turn"

#: The stream, and the ordinal of the choice in it.
Key = tuple[str, int]

_NO_MORE: Final = (-1, 0)


class BadTape(ValueError):
    """A tape that cannot be replayed; the text says why and what to do."""


class Choices:
    """The choices of one thing, in their order."""

    __slots__ = ("_at", "_name", "_next", "_taken", "_value", "_values")

    def __init__(self, name: str, taken: dict[Key, int], values: Callable[[], tuple[int, int]]) -> None:
        self._name = name
        self._taken = taken
        self._values = values
        self._at = 0
        self._next, self._value = values()

    def choose(self) -> int:
        """The next choice: 0, or a magnitude from 1 to ``MOST``."""
        at = self._at
        self._at = at + 1
        if at != self._next:
            return 0
        value = self._taken[self._name, at] = self._value
        self._next, self._value = self._values()
        return value


class Tape:
    """The choices of one life. With ``deviations`` these and no others are taken; otherwise the seed draws them."""

    def __init__(
        self, seed: int, deviations: Mapping[Key, int] | None = None, extents: Mapping[str, int] | None = None
    ) -> None:
        self.seed = seed
        #: How many turns each process takes in the calm life, so that moments can be drawn from them.
        self.extents = extents or {}
        #: What has been chosen so far and was not calm.
        self.taken: dict[Key, int] = {}
        self._given: dict[str, list[tuple[int, int]]] | None = None
        if deviations is not None:
            self._given = {}
            for (name, ordinal), value in sorted(deviations.items()):
                self._given.setdefault(name, []).append((ordinal, value))

    def randomness(self, purpose: str) -> Random:
        """A source of random numbers for one purpose: what is drawn is no choice and never shrunk."""
        return Random(f"{self.seed}/{purpose}")

    def stream(self, name: str, share: float) -> Choices:
        """The stream ``name``, of whose choices ``share`` leave the calm course."""
        if self._given is not None:
            given = iter(self._given.get(name, ()))
            return Choices(name, self.taken, lambda: next(given, _NO_MORE))
        if share <= 0:
            return Choices(name, self.taken, lambda: _NO_MORE)
        rng = self.randomness(name)
        scale = math.log(1 - share) if share < 1 else -math.inf
        last = -1

        def draw() -> tuple[int, int]:
            nonlocal last
            last += 1 + int(math.log(1.0 - rng.random()) / scale)
            return last, rng.randint(1, MOST)

        return Choices(name, self.taken, draw)

    def pick(self, name: str, draw: Callable[[Random], int]) -> int:
        """A choice that is made once: 0, the calm one, or what ``draw`` returns."""
        key = name, 0
        value = draw(self.randomness(name)) if self._given is None else dict(self._given.get(name, ())).get(0, 0)
        if value:
            self.taken[key] = value
        return value


def magnitude(value: int, least: float, most: float) -> float:
    """A magnitude as a number between ``least`` and ``most``, on a logarithmic scale, since delays have no scale of their own."""
    return least * math.pow(most / least, value / MOST)


def written(seed: int, deviations: Mapping[Key, int]) -> str:
    """A tape as text."""
    rows = [[name, ordinal, value] for (name, ordinal), value in sorted(deviations.items())]
    return json.dumps({"format": FORMAT, "seed": seed, "deviations": rows}, separators=(",", ":"))


def read(text: str) -> tuple[int, dict[Key, int]]:
    """Seed and deviations of a written tape. Raises BadTape."""
    try:
        found = json.loads(text)
        there = found.get("format") if isinstance(found, dict) else None
        if there == FORMAT:
            return int(found["seed"]), dict(_deviation(*each) for each in found["deviations"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise BadTape(f"this is no tape of {FORMAT!r}: {error}") from error
    raise BadTape(f"this tape is {str(there)[:100]!r}, and {FORMAT!r} is read here: record it again with --kafka-seed")


def read_file(path: Path) -> tuple[int, dict[Key, int]]:
    """The same of a file. Raises BadTape."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadTape(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadTape(f"{path} is no text, as a tape of --kafka-report is") from error
    return read(text)


def _deviation(name: Any, ordinal: Any, value: Any) -> tuple[Key, int]:
    """Raises TypeError and ValueError."""
    if not isinstance(name, str) or not all(type(each) is int for each in (ordinal, value)):
        raise TypeError(f"{str([name, ordinal, value])[:100]} is no choice")
    if ordinal < 0 or not 0 < value <= (MOST if not name.endswith(MOMENT) else 2**31):
        raise ValueError(f"no choice is {value}, the {ordinal} of {name[:100]!r}")
    return (name, ordinal), value
