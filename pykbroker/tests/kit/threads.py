"""The threads of a process in memory, held: what it gives them is done when the test says so, or fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from pykbroker.runtime.runtime import Runtime, run_inline
from pykbroker.runtime.waits import Deferred


class HeldThreads:
    """From here on work of ``runtime.offload`` waits in ``held``, but for what ``unless(function, *args)`` is true of; or, with
    ``reads``, that of ``runtime.offload_read``.
    """

    def __init__(
        self, runtime: Runtime, *, unless: Callable[..., bool] = lambda *_: False, reads: bool = False
    ) -> None:
        self._runtime = runtime
        self._unless = unless
        self.held: deque[tuple[Callable[[], Any], Deferred[Any]]] = deque()
        self._name = "offload_read" if reads else "offload"
        setattr(runtime, self._name, self._offload)

    def __len__(self) -> int:
        return len(self.held)

    def _offload(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        if self._unless(function, *args):
            return run_inline(function, *args)
        done: Deferred[Any] = Deferred()
        self.held.append((partial(function, *args), done))
        return done

    def run_one(self) -> None:
        """Do what was given first."""
        function, done = self.held.popleft()
        run_inline(function).pass_to(done)

    def fail_one(self, error: Exception) -> None:
        """What was given first fails, and nothing of it is done."""
        self.held.popleft()[1].fail(error)

    def run_all(self) -> None:
        """Do what was given, and what comes of it."""
        while self.held:
            self.run_one()

    def let_go(self) -> None:
        """Do what was given, and from now on what is given, at once."""
        setattr(self._runtime, self._name, run_inline)
        self.run_all()
