"""Compaction in a process of its own, so that the work of decoding records takes nothing from the loop.

``python -m pykbroker.process.cleaner`` reads a pickled order from standard input, does it, and writes the pickled outcome to
standard output: it talks to the broker that started it and to nobody else. Standard input stays open until the outcome is
read; when it ends before, the broker has died, and another may soon write the same files, so the process ends at once.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from typing import NamedTuple

from pykbroker.storage.compaction.cleaner_worker import clean_files
from pykbroker.storage.compaction.cleaning import CleaningJob, CleaningResult


class Order(NamedTuple):
    """One compaction: what to clean, how fast at most (bytes per second), and whether files are synced."""

    job: CleaningJob
    bytes_per_second: float
    durable: bool


class CleanerFailed(RuntimeError):
    """The cleaner's process died or could not do its work; the text says how."""


class CleanerStopped(CleanerFailed):
    """The cleaner was stopped: what it was doing is left to the next start."""

    def __init__(self) -> None:
        super().__init__("the broker is stopping")


class CleanerProcess:
    """Runs orders one at a time. ``run`` is for a worker thread, ``stop`` for the one that owns the loop."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self, order: Order) -> CleaningResult:
        """Do the order in a new process and wait for it. Raises CleanerFailed, or CleanerStopped after ``stop``."""
        if self._stopped:
            raise CleanerStopped
        command = [sys.executable, "-m", "pykbroker.process.cleaner"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # noqa: S603 - ourselves
            self._child = child
            if self._stopped:
                child.kill()
            answer = _ask(child, order)
            self._child = None
        if self._stopped:
            raise CleanerStopped
        if child.returncode != 0:
            raise CleanerFailed(f"the cleaner's process ended with status {child.returncode}")
        outcome = pickle.loads(answer)  # noqa: S301 - written by our own child
        if isinstance(outcome, CleaningResult):
            return outcome
        raise CleanerFailed(str(outcome))

    def stop(self) -> None:
        """Kill a compaction that runs; what it leaves is removed at the next start."""
        self._stopped = True
        if self._child is not None:
            self._child.kill()


def _ask(child: subprocess.Popen[bytes], order: Order) -> bytes:
    """All that the child answers; nothing where it died."""
    assert child.stdin is not None
    assert child.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(pickle.dumps(order))
        child.stdin.flush()
    return child.stdout.read()


def main() -> None:
    """Do the order on standard input."""
    order: Order = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the broker that started us
    threading.Thread(target=_die_with_the_broker, daemon=True).start()
    outcome: CleaningResult | str
    try:
        outcome = clean_files(order.job, order.bytes_per_second, durable=order.durable)
    except Exception as error:  # noqa: BLE001 - told to the broker, which logs it
        outcome = f"{type(error).__name__}: {error}"
    sys.stdout.buffer.write(pickle.dumps(outcome))


def _die_with_the_broker() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    main()
