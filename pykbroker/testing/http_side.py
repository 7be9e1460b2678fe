"""The HTTP side of a test's broker: opened when it is served, closed before it stops."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from pykbroker.steered import http_options as options
from pykbroker.steered.http_side import http_side

if TYPE_CHECKING:
    from pykbroker.process.node import Service as Side
    from pykbroker.steered.embedded import Embedded


class TestHttpSide:
    """Raises ConfigError for an invalid address, and if a package is missing."""

    def __init__(self, address: str, host: Embedded) -> None:
        self._options = options.parse(address)
        self._make = http_side()
        self._host = host
        self._side: Side | None = None
        #: What requests must send, where listeners or an authorizer protect the broker.
        self.token: str | None = None

    def open(self) -> None:
        """Open it. Where the broker is protected, a token is made. Raises StartFailed if the address cannot be bound."""
        self._host.begin(self._open()).result()

    async def _open(self) -> None:
        node = self._host.node
        if options.protected_by(node.config) is not None:
            self.token = self.token or secrets.token_urlsafe()
        made = self._side = self._make(node, replace(self._options, token=self.token), self._host.steering)
        await made.open()

    def close(self) -> None:
        """Close it; harmless when repeated, and if it was not opened."""
        opened, self._side = self._side, None
        if opened is not None and self._host.running:
            self._host.begin(opened.close()).result()
