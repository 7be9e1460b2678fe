"""The producer ids of one broker, taken from a block; the next block is fetched before the current one is used up (KIP-730).

So no decision of a transaction waits for the controller.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError

log = logging.getLogger(__name__)

#: The share of a block that is left when the next one is requested (as in Kafka's RPCProducerIdManager).
_LOW = 0.1


class ProducerIds:
    """``allocate`` requests a block from the controller."""

    def __init__(self, allocate: Callable[[], Deferred[range]]) -> None:
        self._allocate = allocate
        #: The next id, the end of its block, and the id from which on another block is requested.
        self._next = self._stop = 0
        self._low = 0.0
        self._following = range(0)
        self._request: Deferred[None] | None = None

    def awaited(self) -> Deferred[None] | None:
        """The wait until an id can be taken; None if one can now. Fails with KafkaError KAFKA_STORAGE_ERROR if the
        controller cannot allocate a block.
        """
        return None if self._next < self._stop or self._following else self._ask()

    def take(self) -> int:
        """A new producer id. Raises KafkaError COORDINATOR_LOAD_IN_PROGRESS while there is none, and requests a block
        then.
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
        """Request a block, unless a request is under way."""
        if self._request is not None:
            return self._request
        request: Deferred[None] = Deferred()
        self._request = request
        given = attempt(self._allocate).map(self._give).recover(KafkaError, _refused)
        given.settled().map(self._request_ended).or_log("asking for producer ids")
        given.pass_to(request)
        return request

    def _give(self, block: range) -> None:
        if block.start < self._stop:
            raise KafkaError(
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                f"the controller gave {block}, and ids up to {self._stop} were given before",
            )
        self._following = block

    def _request_ended(self, _: None) -> None:
        self._request = None


def _refused(error: KafkaError) -> None:
    log.warning("Producer ids cannot be allocated by the controller: %s", error)
    raise error
