"""What the broker knows of a client's connection, and what a handler gets beside a request's body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.runtime.waits import Deferred

    # Protocols are for the type checker: at run time each would take 12 KB of memory, and nobody asks for them.
    class TimeSpent(Protocol):
        """What is told of the time that a connection's requests take outside their handlers."""

        def turn_over(self, began: float) -> None:
            """A turn of the connection that began at ``began``, in seconds of the clock, is over."""

        def written(self) -> None:
            """A response that waited is written, outside a turn of its connection."""

    class Peer(Protocol):
        """A client's connection, as requests see it."""

        host: str
        port: int
        listener: str
        principal: str
        #: Whether it authenticated with a delegation token.
        by_token: bool
        #: Name and version of the client library, sent in ApiVersions from version 3 on (KIP-511).
        client_software: tuple[str, str]
        #: Set while a quota on request time applies to the client.
        time_spent: TimeSpent | None
        #: What is called once when the connection has ended, by its subject (``tell_when_lost``); None for nothing.
        when_lost: dict[object, Callable[[], None]] | None
        #: Whether the connection has ended: a request that went in slices, or waited for a thread, may outlive it.
        is_lost: bool

        @property
        def local_host(self) -> str:
            """The broker's address to which the client connected; empty if there is none."""
            ...

        def mute(self, ms: float) -> None:
            """Handle no request of the connection for ``ms`` milliseconds; responses are sent meanwhile."""

        def hold(self, until: Deferred[Any]) -> None:
            """Handle no request of the connection before ``until`` is done."""


def tell_when_lost(peer: Peer, subject: object, tell: Callable[[], None]) -> None:
    """Have ``tell`` called once when the connection has ended, in place of what was to be called for this subject; at once if it has."""
    if peer.is_lost:
        tell()
        return
    if peer.when_lost is None:
        peer.when_lost = {}
    peer.when_lost[subject] = tell


@dataclass(slots=True, eq=False, repr=False)
class RequestContext:
    """The header of a request, and its principal, host, listener and connection."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client_host: str
    listener: str
    principal: str
    connection: Peer | None = None
    #: The image that a Metadata answer is computed from; None for the present one.
    as_of: MetadataImage | None = None
    #: Whether the request is worked on in slices: later ones of its connection wait until it is answered.
    in_slices: bool = False
    #: Bytes of the request, for steps of the dispatcher.
    size: int = field(init=False, repr=False, compare=False)

    @property
    def user(self) -> str:
        """The name of the principal, for quotas."""
        return self.principal.partition(":")[2]
