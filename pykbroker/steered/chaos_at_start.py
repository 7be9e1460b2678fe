"""Chaos that ``serve`` begins with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pykbroker.faults.chaos import BadChaos, Chaos
from pykbroker.faults.chaos_tape import BadChaosTape, ChaosTape
from pykbroker.process.log_directories import StartFailed

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering


class ChaosAtStart:
    """A service of the process: begins with its brokers. It ends as all does that is steered, with the control socket."""

    def __init__(self, chaos: Chaos, record: Path | None, steering: Callable[[], Steering]) -> None:
        self._chaos = chaos
        self._record = record
        self._steering = steering

    async def open(self) -> None:
        """Begin. Raises StartFailed if the tape cannot be written, or is of other brokers than these."""
        try:
            self._steering().chaos.begin_each_life_with(self._chaos, self._record)
        except OSError as error:
            raise StartFailed(
                f"what befalls clients cannot be written to {self._record}: {error.strerror}; name another file as --chaos-tape"
            ) from error
        except BadChaos as error:
            raise StartFailed(str(error)) from error

    async def close(self) -> None:
        """Nothing is left to do."""


def chaos_of(given: str, record: str | None) -> Callable[[Callable[[], Steering]], ChaosAtStart]:
    """The service for ``--chaos``, a seed and its words or ``@`` and the file of a tape, and ``--chaos-tape``. Raises BadChaos."""
    chaos = taped(Path(given[1:])) if given.startswith("@") else Chaos.parse(given)
    return partial(ChaosAtStart, chaos, None if record is None else Path(record))


def taped(path: Path) -> Chaos:
    """What is on the tape in a file, again. Raises BadChaos."""
    try:
        with path.open(encoding="utf-8") as file:
            return Chaos.again(ChaosTape.of_lines(file))
    except OSError as error:
        raise BadChaos(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadChaos(f"{path} cannot be played: it is no text, as a tape of --chaos-tape is") from error
    except (BadChaosTape, BadChaos) as error:
        raise BadChaos(f"{path} cannot be played: {error}") from error
