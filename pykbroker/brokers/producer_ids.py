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
        self._block = range(0)
        self._left = range(0)
        self._following = range(0)
        self._asking: Deferred[None] | None = None

    def available(self) -> Deferred[None]:
        """Completes when there is a number to take; fails with KafkaError KAFKA_STORAGE_ERROR where the controller
        gives none.
        """
        return Deferred.completed(None) if self._left or self._following else self._ask()

    def take(self) -> int:
        """A producer id that nobody else has. Raises KafkaError with COORDINATOR_LOAD_IN_PROGRESS while there is none; one is
        asked for then.
        """
        if not self._left:
            if not self._following:
                self._ask()
            self._left = self._block = self._following
            self._following = range(0)
        if not self._left:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        producer_id, self._left = self._left[0], self._left[1:]
        if len(self._left) <= _LOW * len(self._block) and not self._following:
            self._ask()
        return producer_id

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
        if block.start < self._block.stop:
            raise KafkaError(
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                f"the controller gave {block} after {self._block}, which is in use",
            )
        self._following = block

    def _asked(self, _: None) -> None:
        self._asking = None


def _refused(error: KafkaError) -> None:
    log.warning("Producer ids cannot be allocated by the controller: %s", error)
    raise error
