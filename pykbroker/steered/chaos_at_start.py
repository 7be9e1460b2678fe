"""Chaos that ``serve`` begins with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pykbroker.faults.chaos import BadChaos, Chaos
from pykbroker.faults.chaos_tape import BadTape, Tape

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering


class ChaosAtStart:
    """A service of the process: begins with its brokers. It ends as all does that is steered, with the control socket."""

    def __init__(self, chaos: Chaos, record: Path | None, steering: Callable[[], Steering]) -> None:
        self._chaos = chaos
        self._record = record
        self._steering = steering

    async def open(self) -> None:
        """Begin. Raises OSError if the tape cannot be written."""
        self._steering().chaos.begin_each_life_with(self._chaos, self._record)

    async def close(self) -> None:
        """Nothing is left to do."""


def chaos_of(given: str, record: str | None) -> Callable[[Callable[[], Steering]], ChaosAtStart]:
    """The service for ``--chaos``, a seed and its words or ``@`` and the file of a tape, and ``--chaos-tape``. Raises BadChaos."""
    chaos = Chaos.again(read_tape(Path(given[1:]))) if given.startswith("@") else Chaos.parse(given)
    return partial(ChaosAtStart, chaos, None if record is None else Path(record))


def read_tape(path: Path) -> Tape:
    """The tape in a file. Raises BadChaos."""
    try:
        with path.open(encoding="utf-8") as file:
            return Tape.of_lines(file)
    except (OSError, UnicodeDecodeError, BadTape) as error:
        raise BadChaos(f"{path} cannot be played: {error}") from error
