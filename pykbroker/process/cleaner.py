"""Compaction in a process of its own, so that decoding records does not stall the loop.

The child reads a pickled order from standard input, carries it out, and writes the pickled result to standard output.
Standard input stays open until the result is read; if it ends before, the broker has died and another may write the same
files, so the child exits at once. Only the child imports the code that does the work.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pykbroker
from pykbroker.process import descriptors

if TYPE_CHECKING:
    from pykbroker.storage.compaction.cleaning import CleaningJob, CleaningResult

    # Protocols are for the type checker: at run time each would take 12 KB of memory, and nobody asks for them.
    class Cleaner(Protocol):
        """Runs compactions."""

        def run(self, order: Order) -> CleaningResult:
            """Do the order. Raises CleanerFailed or OSError, or CleanerStopped after ``stop``."""
            ...

        def stop(self) -> None:
            """End the running compaction and begin no other."""
            ...


#: The child's program. It runs isolated (``-I``), so that a pickle.py in the working directory is not imported. The first
#: argument is the directory of the package pykbroker, the others are the rest of the broker's module path.
_BEGIN = """
import sys
root, *others = sys.argv[1:]
sys.path.insert(0, root)
import pykbroker
sys.path[:1] = []
sys.path += [path for path in others if path not in sys.path]
from pykbroker.process.cleaner import main
main()
"""


class Order(NamedTuple):
    """One compaction: what to clean, how fast at most (bytes per second), and whether files are synced."""

    job: CleaningJob
    bytes_per_second: float
    durable: bool


class CleanerFailed(RuntimeError):
    """The cleaner's process died or failed; the text says how."""


class CleanerStopped(CleanerFailed):
    """The cleaner was stopped; the next start compacts."""

    def __init__(self) -> None:
        super().__init__("the broker is stopping")


class CleanerProcess:
    """Runs orders one at a time. ``run`` is for a worker thread, ``stop`` for the one that owns the loop."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self, order: Order) -> CleaningResult:
        """Do the order in a new process and wait for it. Raises CleanerFailed, or CleanerStopped after ``stop``."""
        import pickle

        if self._stopped:
            raise CleanerStopped
        written = pickle.dumps(order)
        with subprocess.Popen(_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # noqa: S603 - this package
            self._child = child
            if self._stopped:
                child.kill()
            answer = _ask(child, written)
            self._child = None
        if self._stopped:
            raise CleanerStopped
        if child.returncode != 0:
            raise CleanerFailed(f"the cleaner's process ended with status {child.returncode}")
        outcome: CleaningResult | str = pickle.loads(answer)  # noqa: S301 - written by the child
        if isinstance(outcome, str):
            raise CleanerFailed(outcome)
        return outcome

    def stop(self) -> None:
        """Kill the running compaction."""
        self._stopped = True
        if self._child is not None:
            self._child.kill()


def _command() -> list[str]:
    """The command of the child, with the broker's module path except its working directory."""
    others = [path for path in sys.path if Path(path).is_absolute() and Path(path) != Path.cwd()]
    return [sys.executable, "-I", "-c", _BEGIN, str(Path(pykbroker.__file__).parents[1]), *others]


def _ask(child: subprocess.Popen[bytes], order: bytes) -> bytes:
    """The child's output; empty if it died."""
    assert child.stdin is not None
    assert child.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(order)
        child.stdin.flush()
    return child.stdout.read()


def main() -> None:
    """Do the order on standard input."""
    import pickle

    from pykbroker.storage.compaction.cleaner_worker import clean_files

    try:
        order: Order = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the parent broker
    except (EOFError, pickle.UnpicklingError):  # the parent has died meanwhile
        return
    threading.Thread(target=_die_with_the_broker, daemon=True).start()
    outcome: CleaningResult | str
    try:
        files = descriptors.allowed().files
        outcome = clean_files(order.job, order.bytes_per_second, durable=order.durable, max_open=files)
    except Exception as error:  # noqa: BLE001 - returned to the broker, which logs it
        outcome = f"{type(error).__name__}: {error}"
    sys.stdout.buffer.write(pickle.dumps(outcome))


def _die_with_the_broker() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)
