"""Lives by seed until one fails, and the least schedule that fails in the same way."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pykbroker.worlds.hosts import HostFailed
from pykbroker.worlds.life import LifeOutcome, Test, live
from pykbroker.worlds.recording import record
from pykbroker.worlds.tape import MOMENT, Key

#: The lives that shrinking may take.
SHRINKING_RUNS: Final = 150


@dataclass(slots=True)
class Failure:
    """A life that failed, shrunk and recorded."""

    seed: int
    #: What it raises.
    error: BaseException
    #: The choices without which it passes, or fails otherwise.
    deviations: dict[Key, int]
    #: How many the seed had made.
    of: int
    #: The recorded life with ``deviations``.
    life: LifeOutcome
    #: The nearest recorded life that passes: without the last of them.
    passing: LifeOutcome | None
    #: Lives until it was found, and to shrink it.
    found_after: int
    shrunk_in: int
    #: Whether the seed gave the same life again.
    repeatable: bool = True


def calm(test: Test) -> LifeOutcome:
    """The calm life: no choice leaves its course. Its length is what moments are drawn from."""
    return live(test, 0, {})


def explore(test: Test, seeds: Iterable[int], *, shrinking_runs: int = SHRINKING_RUNS) -> Failure | None:
    """Live by each seed until one fails; None if none does. The calm life comes first: what fails in it needs no schedule."""
    first = calm(test)
    if first.error is not None:
        life = live(test, 0, {}, prepare=record)
        return Failure(0, life.error or first.error, {}, 0, life, None, 1, 0, life.trace_hash == first.trace_hash)
    for count, seed in enumerate(seeds, 1):
        outcome = live(test, seed, extents=first.extents)
        if outcome.error is not None:
            return _shrunk(test, outcome, first.extents, count, shrinking_runs)
    return None


def replay(test: Test, seed: int, deviations: Mapping[Key, int]) -> Failure | None:
    """Live by a tape; None if it passes. Warns of choices on it that the life did not come to."""
    life = live(test, seed, deviations, prepare=record)
    if unmet := [key for key in deviations if key not in life.taken]:
        warnings.warn(
            f"{len(unmet)} of {len(deviations)} choices on the tape did not come up, as {unmet[0][0]!r}: it is of another test, or the "
            "program has changed since",
            stacklevel=2,
        )
    return (
        None if life.error is None else Failure(seed, life.error, dict(deviations), len(deviations), life, None, 1, 0)
    )


class _Shrinking:
    """Leaves out choices for as long as the life fails in the same way."""

    def __init__(self, test: Test, failed: LifeOutcome, runs: int) -> None:
        self._test = test
        self._seed = failed.seed
        self._kind = _kind(failed.error)
        self._left = runs
        self.runs = 0

    @property
    def is_over(self) -> bool:
        """Whether no life is left to try."""
        return self.runs >= self._left

    def fails(self, deviations: Mapping[Key, int]) -> bool:
        """Whether a life with these choices fails in the same way."""
        self.runs += 1
        return _kind(live(self._test, self._seed, deviations).error) == self._kind

    def least(self, taken: dict[Key, int]) -> dict[Key, int]:
        """The choices that are needed: delta debugging, then one by one."""
        keys = list(taken)
        size = len(keys)
        while size >= 1 and not self.is_over:
            at, removed = 0, False
            while at < len(keys) and not self.is_over:
                rest = keys[:at] + keys[at + size :]
                if self.fails({key: taken[key] for key in rest}):
                    keys, removed = rest, True
                else:
                    at += size
            if size == 1 and not removed:
                break
            size = max(1, size // 2) if size > 1 or not removed else 1
        return {key: taken[key] for key in keys}

    def milder(self, needed: dict[Key, int]) -> dict[Key, int]:
        """The same choices, as small as they may be; moments stay, since an earlier one is not a milder one."""
        for key, value in list(needed.items()):
            while not key[0].endswith(MOMENT) and value > 1 and not self.is_over:
                value //= 2
                if not self.fails({**needed, key: value}):
                    break
                needed[key] = value
        return needed


def _shrunk(test: Test, failed: LifeOutcome, extents: Mapping[str, int], count: int, runs: int) -> Failure:
    assert failed.error is not None
    again = live(test, failed.seed, extents=extents)
    repeatable = again.trace_hash == failed.trace_hash
    shrinking = _Shrinking(test, failed, runs if repeatable else 0)
    needed = dict(failed.taken)
    if repeatable and shrinking.fails(needed):
        needed = shrinking.milder(shrinking.least(needed))
    life = live(test, failed.seed, needed, prepare=record)
    passing = None
    if life.error is None:  # the tape does not repeat it: shown as it was
        needed, life = dict(failed.taken), live(test, failed.seed, extents=extents, prepare=record)
    elif needed:
        one_less = dict(list(needed.items())[:-1])
        nearest = live(test, failed.seed, one_less, prepare=record)
        passing = nearest if nearest.error is None else None
    return Failure(
        failed.seed,
        life.error or failed.error,
        needed,
        len(failed.taken),
        life,
        passing,
        count,
        shrinking.runs,
        repeatable,
    )


def _kind(error: BaseException | None) -> tuple[type, ...]:
    """What makes two failures the same: the types of the error and, of a host's, of its cause."""
    if error is None:
        return ()
    return (type(error), type(error.__cause__)) if isinstance(error, HostFailed) else (type(error),)
