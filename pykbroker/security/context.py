"""Who asks: what the broker knows of a connection, and a handler of a request beside its body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol


class Peer(Protocol):
    """The other end of a connection, as requests know it."""

    host: str
    port: int
    listener: str
    principal: str
    #: Whether a delegation token said who it is.
    by_token: bool
    #: Name and version of the client's library, as ApiVersions tells them from version 3 on (KIP-511).
    client_software: tuple[str, str]

    @property
    def local_host(self) -> str:
        """The address of ours by which it came; empty where there is none."""
        ...

    def mute(self, ms: float) -> None:
        """Read nothing of what it sends for so many milliseconds. What is answered meanwhile goes out."""


@dataclass(slots=True)
class RequestContext:
    """Who asks, in which version, over which listener."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client_host: str
    listener: str
    principal: str
    connection: Peer | None = None
    #: Where a quota holds for changes of partitions: told how many before they are made, it may raise KafkaError.
    may_change: Callable[[int], None] | None = None
    #: Bytes of the request; there for the dispatcher's steps.
    size: int = field(init=False, repr=False, compare=False)
