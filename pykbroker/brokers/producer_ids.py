"""The producer ids of one broker: a block of them at a time, the next one fetched before the last is used up (KIP-730).

So a decision that needs a number takes one, and never waits for the controller in the middle.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError

log = logging.getLogger(__name__)

#: The next block is asked for when so much of the one in use is left (RPCProducerIdManager: at 90 percent).
_LOW = 0.1


class ProducerIds:
    """``allocate`` asks the controller for a block."""

    def __init__(self, allocate: Callable[[], Deferred[range]]) -> None:
        self._allocate = allocate
        #: The next id to be taken, the end of its block, and from where on another block is asked for.
        self._next = self._stop = 0
        self._low = 0.0
        self._following = range(0)
        self._asking: Deferred[None] | None = None

    def awaited(self) -> Deferred[None] | None:
        """The wait until there is a number to take; None where there is one already. It fails with KafkaError KAFKA_STORAGE_ERROR
        where the controller gives none.
        """
        return None if self._next < self._stop or self._following else self._ask()

    def take(self) -> int:
        """A producer id that nobody else has. Raises KafkaError with COORDINATOR_LOAD_IN_PROGRESS while there is none; one is
        asked for then.
        """
        if self._next == self._stop:
            self._begin_block()
        producer_id = self._next
        self._next += 1
        if self._next >= self._low and not self._following:
            self._ask()
        return producer_id

    def _begin_block(self) -> None:
        if not self._following:
            self._ask()
        if not self._following:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        block, self._following = self._following, range(0)
        self._next, self._stop = block.start, block.stop
        self._low = block.stop - _LOW * len(block)

    def _ask(self) -> Deferred[None]:
        """One block at a time, however many ask."""
        if self._asking is not None:
            return self._asking
        asking: Deferred[None] = Deferred()
        self._asking = asking
        given = attempt(self._allocate).map(self._give).recover(KafkaError, _refused)
        given.settled().map(self._asked).or_log("asking for producer ids")
        given.pass_to(asking)
        return asking

    def _give(self, block: range) -> None:
        if block.start < self._stop:
            raise KafkaError(
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                f"the controller gave {block}, and ids up to {self._stop} were given before",
            )
        self._following = block

    def _asked(self, _: None) -> None:
        self._asking = None


def _refused(error: KafkaError) -> None:
    log.warning("Producer ids cannot be allocated by the controller: %s", error)
    raise error
