"""The memory budget of the process: what waits to be received, decompressed or sent counts against one number of bytes.

Each use has an ``Account``. Requests and decompression wait in the order of arrival until there is room; so nobody is starved
by others that come later. Answers never wait, since only their leaving makes room: records stay in their files instead
(``answer_bytes``). An account that holds nothing is always granted, whatever it asks for, so that no two uses wait for each other
and a batch larger than the budget goes alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import count

from pykbroker.runtime.waits import Deferred

#: The limit where nobody sets one (simulations, tests).
DEFAULT_LIMIT = 512 * 1024 * 1024
#: An answer may use this part of what is free, so that many that come together all have some.
_PART_OF_FREE = 32


class _Waiting:
    """One that waits for ``size`` bytes; ``wait`` is None once nobody does any more."""

    __slots__ = ("number", "size", "wait")

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        self.wait: Deferred[None] | None = Deferred()


class Account:
    """One use of the budget. ``own_limit`` bounds this use alone; 0 is no bound."""

    __slots__ = ("_budget", "held", "own_limit", "queue")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.own_limit = 0
        #: Bytes that are taken now.
        self.held = 0
        #: Those that wait, in the order of arrival.
        self.queue: deque[_Waiting] = deque()

    def take(self, size: int) -> Deferred[None] | None:
        """Take ``size`` bytes; None if they are granted at once, else the wait for them, which may be abandoned."""
        budget = self._budget
        if (not budget.waiting and budget.fits(self, size)) or not (self.held or self.queue):
            self.count(size)
            return None
        return budget.queue(self, size)

    def count(self, size: int) -> None:
        """Count bytes that exist already, as nothing waits for answers; a negative number gives back."""
        self.held += size
        self._budget.used += size
        if size < 0 and self._budget.waiting:
            self._budget.go_on()

    def give(self, size: int) -> None:
        """Give back what was granted."""
        self.count(-size)


class MemoryBudget:
    """See the module. All of it runs on the loop."""

    __slots__ = (
        "_numbers",
        "decompressed",
        "limit",
        "received",
        "relieve",
        "spare",
        "unsent",
        "used",
        "waiting",
        "waits",
    )

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        #: Bytes that all accounts together may hold.
        self.limit = limit
        #: Bytes that they hold.
        self.used = 0
        #: How many wait now, and have waited since the start.
        self.waiting = 0
        self.waits = 0
        #: Called when somebody begins to wait, to have others give back what they only keep.
        self.relieve: Callable[[], None] | None = None
        #: A buffer that was given back while memory was short; of the budget again once it is used.
        self.spare: memoryview | None = None
        self.received = Account(self)
        self.decompressed = Account(self)
        self.unsent = Account(self)
        self._numbers = count()

    def bound(self, limit: int, received: int) -> None:
        """Bound what all accounts together may hold, and what ``received`` may; 0 for the latter is no bound of its own."""
        self.limit, self.received.own_limit = limit, received

    def keep_spare(self, buffer: memoryview | None) -> None:
        """Keep a buffer that is given back for the next that receives as much, while memory is short; else keep none."""
        self.spare = (buffer or self.spare) if self.is_short else None

    def take_spare(self, size: int) -> memoryview | None:
        """The buffer that was given back, if it has this size."""
        spare = self.spare
        if spare is None or len(spare) != size:
            return None
        self.spare = None
        return spare

    @property
    def is_short(self) -> bool:
        """Whether somebody waits, or more than half is used: then nothing is kept that is not in use."""
        return self.waiting > 0 or self.used * 2 > self.limit

    def answer_bytes(self, wanted: int, least: int) -> int:
        """How much of an answer may be in memory: ``wanted`` while much is free, less then, but always ``least``."""
        return max(least, min(wanted, (self.limit - self.used) // _PART_OF_FREE))

    def fits(self, account: Account, size: int) -> bool:
        """Whether there is room for ``size`` more bytes of an account."""
        own = account.own_limit
        return self.used + size <= self.limit and (not own or account.held + size <= own)

    def queue(self, account: Account, size: int) -> Deferred[None]:
        """Wait for ``size`` bytes, behind those that wait already."""
        waiting = _Waiting(next(self._numbers), size)
        wait = waiting.wait
        assert wait is not None, "it was just made"
        wait.when_abandoned = lambda: self._abandoned(waiting)
        account.queue.append(waiting)
        self.waiting += 1
        self.waits += 1
        if self.relieve is not None:
            self.relieve()
        return wait

    def _abandoned(self, waiting: _Waiting) -> None:
        waiting.wait = None
        self.waiting -= 1
        self.go_on()

    def go_on(self) -> None:
        """Grant what there is room for, in the order of arrival. One that fits nothing stops those behind it, unless its
        account's own limit is the reason, or theirs hold nothing.
        """
        while (account := self._next()) is not None:
            waiting = account.queue.popleft()
            if waiting.wait is None:
                continue
            self.waiting -= 1
            account.held += waiting.size
            self.used += waiting.size
            waiting.wait.when_abandoned = None
            waiting.wait.complete(None)

    def _next(self) -> Account | None:
        """The account whose first in the queue goes on now, or has gone."""
        blocked = False
        accounts = [each for each in (self.received, self.decompressed) if each.queue]
        for account in sorted(accounts, key=lambda each: each.queue[0].number):
            first = account.queue[0]
            if first.wait is None or not account.held or (not blocked and self.fits(account, first.size)):
                return account
            blocked = blocked or self.used + first.size > self.limit
        return None
