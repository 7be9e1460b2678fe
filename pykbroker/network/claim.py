"""What the receive block of a connection takes of the memory budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.network.receive_block import BLOCK

if TYPE_CHECKING:
    from pykbroker.network.receive_block import ReceiveBlock
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.waits import Deferred


class Claim:
    """Bytes that one connection has been granted, or waits for. The smallest blocks wait for nobody: they only count."""

    __slots__ = ("_granted_at", "_runtime", "_wait", "size")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._wait: Deferred[None] | None = None
        self._granted_at = 0.0
        #: Bytes that are granted or waited for.
        self.size = 0

    def cover(self, received: ReceiveBlock) -> Deferred[None] | None:
        """Claim the connection's own block; the wait for it if there is no room, until which nothing may be received."""
        more = received.own_size - self.size
        if more <= 0:
            if more:
                self._give(-more)
            return None
        self.size += more
        account = self._runtime.memory.received
        if received.own_size <= BLOCK:
            account.count(more)
            return None
        wait = account.take(more)
        if wait is None:
            self._granted(received)
            return None
        self._wait = wait
        return wait.map(lambda _: self._granted(received))

    def settle(self, received: ReceiveBlock) -> None:
        """Everything received is parsed: keep the block only while memory is not short. Else the next that needs one has it: to have the
        system make new pages takes longer than to receive into them.
        """
        memory = self._runtime.memory
        memory.keep_spare(received.let_go() if memory.is_short else None)
        self._give(self.size - received.own_size)

    def granted_before(self, since: float) -> bool:
        """Whether more than the smallest block was granted before ``since`` (monotonic)."""
        return self.size > BLOCK and self._wait is None and self._granted_at < since

    def drop(self) -> None:
        """The connection has ended."""
        wait, self._wait = self._wait, None
        if wait is not None:
            wait.abandon()
        self._give(self.size)

    def _granted(self, received: ReceiveBlock) -> None:
        self._wait = None
        self._granted_at = self._runtime.clock.monotonic()
        spare = self._runtime.memory.take_spare(received.own_size)
        if spare is not None:
            received.move_to(spare)

    def _give(self, size: int) -> None:
        self.size -= size
        if size:
            self._runtime.memory.received.give(size)
