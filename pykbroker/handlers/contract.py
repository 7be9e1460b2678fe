"""The interface of a handler, which is a module of this room, and what it may raise besides KafkaError."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pykbroker.runtime.waits import as_wait

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError
    from pykbroker.wire.message import Message

    #: The result of a request: its response, a wait for the response, or None if nothing is to be sent.
    Answer = Message | Deferred[Any] | None

    # Protocols are for the type checker: at run time each would take 12 KB of memory, and nobody asks for them.
    class Handle(Protocol):
        """Carries out a request. Raises CloseConnection and, in a module with ``failed``, a KafkaError of any code, which then
        concerns the whole request.
        """

        def __call__(self, broker: Broker, ctx: RequestContext, request: Any, /) -> Answer: ...

    class Failed(Protocol):
        """The response that carries one error for every part of a request, in the request's version."""

        def __call__(self, request: Any, version: int, error: KafkaError, /) -> Message: ...

    class LogsOf(Protocol):
        """The partitions whose logs a request reads or writes, None in place of one that does not exist: their closed logs are
        opened, in a thread, before the handler is called.
        """

        def __call__(self, broker: Broker, version: int, request: Any, /) -> Iterable[Partition | None]: ...

    class Handler(Protocol):
        """A module that serves an API. ``failed`` and ``logs_of`` may be left out."""

        handle: Handle
        failed: Failed
        logs_of: LogsOf


T = TypeVar("T")

#: Bytes from which a frame is large, and its request goes in slices (``requests/large.py``): below it decoding takes a millisecond or two,
#: whatever it names.
LARGE = 8 * 1024


class CloseConnection(Exception):
    """The connection is to be closed; the text is the reason, for the log. ``last_words`` are bytes to send first."""

    def __init__(self, reason: str, last_words: bytes = b"") -> None:
        super().__init__(reason)
        self.last_words = last_words


class NotYet(Exception):
    """The request can be handled only once ``until`` is done; nothing of it has been done yet. The connection handles no other
    request meanwhile, so its requests keep their order.
    """

    def __init__(self, until: Deferred[None]) -> None:
        super().__init__()
        self.until = until


def again_when_ready(attempt: Callable[[], T | Deferred[T]]) -> T | Deferred[T]:
    """The result of an attempt to handle a request whose frame cannot be handed in again, since it is worked on in later turns:
    when it says NotYet, it is made again. Raises, or fails with, whatever else it raises.
    """
    try:
        return attempt()
    except NotYet as error:
        return error.until.settled().chain(lambda _: as_wait(again_when_ready(attempt)))
