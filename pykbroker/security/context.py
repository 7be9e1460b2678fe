"""What a handler knows of the request beside its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.network.connection import Connection


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
    connection: Connection | None = None
