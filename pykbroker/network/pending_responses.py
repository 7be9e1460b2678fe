"""The responses of one connection that cannot be sent yet, in the order of its requests.

Kafka answers the requests of a connection in order, so a response that is ready waits for those before it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from pykbroker.storage.log.stored import StoredRecords

if TYPE_CHECKING:
    from collections.abc import Buffer  # type: ignore[attr-defined]  # for readers; exists from Python 3.12

    from pykbroker.runtime.waits import Deferred

#: Waiting requests of one connection at which no more of it is read.
_MAX_WAITING = 128
#: Bytes of responses behind an earlier one at which no more of the connection is read.
_MAX_HELD_BYTES = 1024 * 1024


class PendingResponse:
    """The place of one response in the order. ``pieces`` is None for a request that gets no response."""

    __slots__ = ("deferred", "is_ready", "pieces", "size")

    def __init__(self) -> None:
        self.is_ready = False
        self.deferred: Deferred[list[Buffer] | None] | None = None
        self.pieces: list[Buffer] | None = None
        #: Bytes in memory, if it was ready before an earlier one.
        self.size = 0


class PendingResponses:
    """The queue of places; ``held_bytes`` are those of responses that are ready behind one that is not."""

    __slots__ = ("held_bytes", "queue")

    def __init__(self) -> None:
        self.queue: deque[PendingResponse] = deque()
        self.held_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the client has to wait for responses before more of its requests are read."""
        return len(self.queue) >= _MAX_WAITING or self.held_bytes >= _MAX_HELD_BYTES

    @property
    def last_wait(self) -> Deferred[list[Buffer] | None]:
        """The wait of the latest request that waits; the first of the queue does."""
        return next(each.deferred for each in reversed(self.queue) if each.deferred is not None and not each.is_ready)

    def add(self) -> PendingResponse:
        """A place for the response to the latest request."""
        response = PendingResponse()
        self.queue.append(response)
        return response

    def is_first(self, response: PendingResponse) -> bool:
        """Whether it is the next to be sent."""
        return bool(self.queue) and response is self.queue[0]

    def fill(self, response: PendingResponse, pieces: list[Buffer] | None) -> list[Buffer]:
        """A response is ready: remove those that wait for no earlier one, and return their pieces. Records in files do not count as held:
        only their place is in memory.
        """
        queue = self.queue
        if response is not queue[0]:
            response.pieces, response.is_ready = pieces, True
            if pieces is not None:
                response.size = sum(len(piece) for piece in pieces if type(piece) is not StoredRecords)
                self.held_bytes += response.size
            return []
        queue.popleft()
        ready = pieces or []
        while queue and queue[0].is_ready:
            response = queue.popleft()
            self.held_bytes -= response.size
            if response.pieces is not None:
                ready = ready + response.pieces
        return ready

    def abandon(self) -> None:
        """Drop all responses, and abandon the requests that still wait: the client is gone."""
        abandoned, self.queue = self.queue, deque()
        self.held_bytes = 0
        for response in abandoned:
            # Its callback refers to the response and the connection: without this a reference cycle remains.
            deferred, response.deferred = response.deferred, None
            if deferred is not None:
                deferred.abandon()
