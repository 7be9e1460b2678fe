"""Runs of a program against brokers of their own with chaos, and the least tape by which it fails."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final

from pykbroker.client.errors import ClientError
from pykbroker.faults.chaos_tape import ChaosTape, Decision
from pykbroker.process.log_directories import StartFailed
from pykbroker.steered.separate import Separate

#: What is replaced by the brokers' address in the program's words, and the variables that have it, and the seed or tape.
PLACE: Final = "{bootstrap}"
ADDRESS_VARIABLE: Final = "KAFKA_BOOTSTRAP_SERVERS"
CHAOS_VARIABLE: Final = "PYKBROKER_CHAOS"
#: Where the brokers listen, unless --set says otherwise.
LISTENERS: Final = {"listeners": "PLAINTEXT://127.0.0.1:0"}


@dataclass(frozen=True, slots=True)
class Program:
    """A command, the settings and number of the brokers that it gets, and the seconds that it may take."""

    words: tuple[str, ...]
    settings: Mapping[str, str]
    brokers: int
    limit_s: float

    def run(self, chaos: str, tape: Path, output: Path | None = None) -> ProgramRun:
        """Run it beside new brokers with chaos, as ``serve --chaos`` takes it. The tape is written to ``tape``, and what the program
        and the brokers print to ``output``; without one the program prints as if it was started alone. Raises ClientError if
        either cannot be started.
        """
        brokers = Separate(
            {**LISTENERS, **self.settings},
            *(self.brokers, None, None),
            (("--chaos", chaos), ("--chaos-tape", str(tape))),
        )
        try:
            brokers.start()
        except StartFailed as error:
            raise ClientError(f"The brokers do not start: {error}") from error
        try:
            with contextlib.nullcontext(None) if output is None else output.open("wb") as file:
                status, seconds = self._run(",".join(brokers.addresses()), chaos, file)
        finally:
            brokers.stop()
        if output is not None:
            with output.open("a", encoding="utf-8") as file_of_log:
                print("\n---- the brokers' log, its last lines", *brokers.lines, sep="\n", file=file_of_log)
        return ProgramRun(status, seconds, tape, output)

    def _run(self, address: str, chaos: str, output: IO[bytes] | None) -> tuple[int | None, float]:
        words = [word.replace(PLACE, address) for word in self.words]
        environment = {**os.environ, ADDRESS_VARIABLE: address, CHAOS_VARIABLE: chaos}
        begun = time.monotonic()
        try:
            # A session of its own, so that all that it has started can be ended with it.
            running = subprocess.Popen(  # noqa: S603 - the user's own command
                words, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        except OSError as error:
            raise ClientError(f"{words[0]} cannot be started: {error.strerror}.") from error
        try:
            status: int | None = running.wait(self.limit_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(running)
        return status, time.monotonic() - begun


def _end(running: subprocess.Popen[bytes]) -> None:
    """Kill a program with all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """How a program ended: its exit status, None if it took too long, after so many seconds."""

    status: int | None
    seconds: float
    tape: Path
    output: Path | None

    @property
    def failed(self) -> bool:
        return self.status != 0

    def forget(self) -> None:
        """Remove what was kept of it."""
        for path in (self.tape, self.output):
            if path is not None:
                path.unlink(missing_ok=True)

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "status": self.status,
            "seconds": round(self.seconds, 1),
            "tape": str(self.tape),
            "output": str(self.output),
        }

    def __str__(self) -> str:
        how = "passes" if not self.failed else "took too long" if self.status is None else f"exit status {self.status}"
        return f"{how} ({self.seconds:.1f} s)"


def least_tape(tape: ChaosTape, fails: Callable[[ChaosTape], bool], most: int = 200) -> tuple[ChaosTape, int]:
    """The least tape found by which a program still fails, in ``most`` runs at most, and how many it took: parts of the tape are left
    out, halves first, as long as it fails without them (delta debugging).
    """
    left, parts, runs = list(tape.decisions), 2, 0
    while left and runs < most:
        size = -(-len(left) // parts)
        for begin in range(0, len(left), size):
            without: Sequence[Decision] = (*left[:begin], *left[begin + size :])
            runs += 1
            if fails(replace(tape, decisions=tuple(without))):
                left, parts = list(without), max(parts - 1, 2)
                break
            if runs >= most:
                break
        else:
            if size == 1:
                break
            parts = min(parts * 2, len(left))
    return replace(tape, decisions=tuple(left)), runs
