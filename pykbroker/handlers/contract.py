"""What a handler is: a module of this room, and what it may raise beside KafkaError."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError
    from pykbroker.wire.message import Message

    #: What becomes of a request: its response, a wait for it, or None where nothing is to be sent.
    Answer = Message | Deferred[Any] | None


class Handle(Protocol):
    """Carries out a request. Raises CloseConnection, and where the module says by ``failed`` what that is for all of a
    request, a KafkaError of any code.
    """

    def __call__(self, broker: Broker, ctx: RequestContext, request: Any, /) -> Answer: ...


class Failed(Protocol):
    """The response that tells every part of a request the same error, in the request's version."""

    def __call__(self, request: Any, version: int, error: KafkaError, /) -> Message: ...


class LogsOf(Protocol):
    """The partitions whose logs a request of a version reads or writes; None for one that does not exist."""

    def __call__(self, broker: Broker, version: int, request: Any, /) -> Iterable[Partition | None]: ...


class Handler(Protocol):
    """A module that serves an API. ``failed`` and ``logs_of`` may be left out."""

    handle: Handle
    failed: Failed
    logs_of: LogsOf


class CloseConnection(Exception):
    """The connection cannot go on; the text says why, for the log. ``last_words`` are bytes that are sent before it ends."""

    def __init__(self, reason: str, last_words: bytes = b"") -> None:
        super().__init__(reason)
        self.last_words = last_words


class NotYet(Exception):
    """A request can only be handled once ``until`` is done; until then nothing was done of it. Its connection takes up
    nothing else meanwhile, so the order of its requests stays.
    """

    def __init__(self, until: Deferred[None]) -> None:
        super().__init__()
        self.until = until
