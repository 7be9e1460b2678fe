"""An explorer in several processes: one that has nothing to do any more is replaced by a copy of another, and each has half of its states.

What they came to is theirs together, and what they know of parts is each one's own. An exploration that is stopped can be gone on from.

``python -m pykbroker.tests.replication.together RECORDS FAULTS WORKERS MINUTES FOLDER`` explores for so long, and goes on from what an earlier
one has left in the folder.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from mmap import PAGESIZE, mmap
from multiprocessing import Lock
from pathlib import Path
from time import monotonic
from typing import Final

from pykbroker.tests.replication.explorer import Explorer
from pykbroker.tests.replication.model import Violation, with_faults

_BUSY, _FAILED, _STATES, _TRANSITIONS, _SAID = range(5)
#: How many states a process goes on from before it looks what the others do.
ROUND: Final = 2_000
MOST: Final = 50_000_000


class Together:
    """See the module."""

    def __init__(self, explorer: Explorer, workers: int, folder: Path) -> None:
        self._explorer = explorer
        self._folder = folder
        self._workers = workers
        self._shared = memoryview(mmap(-1, PAGESIZE)).cast("Q")
        self._lock = Lock()
        self._is_copy = False
        self._copies: list[int] = []

    @property
    def states(self) -> int:
        """How many all have come to."""
        return self._shared[_STATES]

    @property
    def transitions(self) -> int:
        """How many events all have let happen."""
        return self._shared[_TRANSITIONS]

    def __str__(self) -> str:
        return f"{self.states} states, {self.transitions} transitions"

    def explore(self, is_over: Callable[[], bool] = bool) -> bool:
        """Go on until it ``is_over``; whether all is explored. If not, what there is of it is in the folder. Raises Violation."""
        self._go_on()
        self._shared[_BUSY] = 1
        try:
            self._explore(is_over)
        except BaseException:
            self._shared[_FAILED] = 1
            if not self._is_copy:
                raise
            traceback.print_exc()
        finally:
            with self._lock:
                self._shared[_BUSY] -= 1
            for copy in self._copies:
                os.waitpid(copy, 0)
            if self._is_copy:
                os._exit(0)
        if self._shared[_FAILED]:
            raise Violation("a copy has found it")
        if not list(self._folder.glob("*.waiting")):
            return True
        (self._folder / "seen").write_bytes(self._explorer.seen.bytes)
        (self._folder / "counted").write_bytes(pickle.dumps(list(self._shared)))
        return False

    def _go_on(self) -> None:
        """Take what an earlier one has left."""
        waiting = list(self._folder.glob("*.waiting"))
        if waiting:
            self._explorer.seen.bytes[:] = (self._folder / "seen").read_bytes()
            _, _, *counted = pickle.loads((self._folder / "counted").read_bytes())
            self._shared[_STATES], self._shared[_TRANSITIONS] = counted[:2]
            self._explorer.states = 0
            self._explorer.waiting[:] = [
                self._explorer.imported(state) for each in waiting for state in pickle.loads(each.read_bytes())
            ]
        for each in waiting:
            each.unlink()

    def _explore(self, is_over: Callable[[], bool]) -> None:
        explorer = self._explorer
        begun = monotonic()
        for number, _ in enumerate(explorer.explore()):
            if number % ROUND == 0:
                self._count()
                if is_over() or self._shared[_FAILED]:
                    break
                if len(explorer.waiting) > 1 and self._shared[_BUSY] < self._workers:
                    self._divide()
                self._say(int((monotonic() - begun) // 60))
        self._count()
        if explorer.waiting:
            states = [explorer.exported(state) for state in explorer.waiting]
            (self._folder / f"{os.getpid()}.waiting").write_bytes(pickle.dumps(states))

    def _count(self) -> None:
        """Add to what all have done."""
        explorer = self._explorer
        with self._lock:
            self._shared[_STATES] += explorer.states
            self._shared[_TRANSITIONS] += explorer.transitions
        explorer.states = explorer.transitions = 0
        assert self.states <= explorer.most

    def _divide(self) -> None:
        """Let a copy have each second state that waits."""
        with self._lock:
            if self._shared[_BUSY] >= self._workers:
                return
            self._shared[_BUSY] += 1
        gc.freeze()
        copy = os.fork()
        if copy:
            self._copies.append(copy)
        else:
            self._is_copy, self._copies = True, []
        self._explorer.waiting[:] = self._explorer.waiting[bool(copy) :: 2]

    def _say(self, minutes: int) -> None:
        """Say how far all are, once a minute."""
        with self._lock:
            is_new = minutes > self._shared[_SAID]
            self._shared[_SAID] = max(minutes, self._shared[_SAID])
        if is_new:
            sys.stdout.write(f"{minutes} min: {self}\n")
            sys.stdout.flush()


def main(records: int, faults: int, workers: int, minutes: float, folder: Path) -> None:
    """See the module."""
    begun = monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    together = Together(Explorer(with_faults(records, faults), most=MOST), workers, folder)
    is_all = together.explore(lambda: monotonic() >= begun + 60 * minutes)
    sys.stdout.write(f"{'all' if is_all else 'so far'}: {together}, {monotonic() - begun:.0f} s\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]), Path(sys.argv[5]))
