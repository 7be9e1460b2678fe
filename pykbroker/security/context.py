"""Who asks: what the broker knows of a connection, and a handler of a request beside its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Peer(Protocol):
    """The other end of a connection, as requests know it."""

    host: str
    listener: str
    principal: str
    #: Name and version of the client's library, as ApiVersions tells them from version 3 on (KIP-511).
    client_software: tuple[str, str]


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
