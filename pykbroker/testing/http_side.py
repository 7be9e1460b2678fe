"""What a test's broker serves by HTTP, the HTTP side and the schema registry: opened when it is served, closed before it stops."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from pykbroker.steered import http_options as options
from pykbroker.steered.http_side import check_registry, http_side, schema_registry

if TYPE_CHECKING:
    from pykbroker.process.node import Node
    from pykbroker.process.node import Service as Side
    from pykbroker.steered.embedded import Embedded


class TestHttpSide:
    """``http`` and ``registry`` are addresses, or None; the registry has the TLS and the users of ``listener``. Raises ConfigError for an invalid one, and if a package is missing."""

    def __init__(self, http: str | None, registry: str | None, host: Embedded, listener: str | None = None) -> None:
        self._http = None if http is None else (options.parse(http), http_side())
        self._registry = None if registry is None else options.parse_registry(registry, listener=listener)
        if registry is not None:
            check_registry()
        self._host = host
        self._sides: list[Side] = []
        #: What requests must send, where listeners or an authorizer protect the broker.
        self.token: str | None = None

    def open(self) -> None:
        """Open it. Where the broker is protected, a token is made. Raises StartFailed if an address cannot be bound."""
        self._host.begin(self._open()).result()

    async def _open(self) -> None:
        node = self._host.node
        if options.protected_by(node.config) is not None:
            self.token = self.token or secrets.token_urlsafe()
        self._sides = self._made(node)
        for each in self._sides:
            await each.open()

    def _made(self, node: Node) -> list[Side]:
        sides, registry = [], None
        if self._registry is not None:
            registry = schema_registry(node, replace(self._registry, token=self.token), self._host.request_log)
            sides.append(registry)
        if self._http is not None:
            given, make = self._http
            sides.append(make(node, replace(given, token=self.token), self._host.steering, registry))
        return sides

    def close(self) -> None:
        """Close it; harmless when repeated, and if it was not opened."""
        opened, self._sides = self._sides, []
        if self._host.running:
            for each in reversed(opened):
                self._host.begin(each.close()).result()
