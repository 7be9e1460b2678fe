"""Opens the HTTP side of a process, for ``serve`` and for brokers of tests.

The HTTP side is a room of its own beside these, which they do not import: it is loaded by its name, as a plug-in is.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from pykbroker.process.node import Node, Service
    from pykbroker.steered.http_options import HttpOptions
    from pykbroker.steered.request_log import RequestLog
    from pykbroker.steered.steering import Steering


class MakeSide(Protocol):
    """Creates the HTTP side of a node; ``steering`` is called with the first request to its API. ``registry`` is what ``schema_registry``
    has created, for the console.
    """

    def __call__(
        self, node: Node, options: HttpOptions, steering: Callable[[], Steering], registry: Service | None, /
    ) -> Service:
        """Create it, not yet opened."""
        ...


def http_side(*, own_process: bool = False) -> MakeSide:
    """Import the HTTP side. In a process of the broker's own, without loading CA certificates for aiohttp's client.

    Raises ConfigError that says what to install if a package is missing.
    """
    return cast("MakeSide", import_module("pykbroker.http.installed").side(own_process=own_process))


def schema_registry(node: Node, options: HttpOptions, request_log: Callable[[], RequestLog | None]) -> Service:
    """Import the schema registry and create it, not yet opened. ``installed.check_registry`` has said what is missing.
    ``request_log`` notes its requests, and is None while they are not recorded.
    """
    module = import_module("pykbroker.http.schema_registry")
    return cast("Service", module.SchemaRegistrySide(node, options, request_log))


def check_registry() -> None:
    """Raises ConfigError that says what to install if a package of the schema registry is missing."""
    import_module("pykbroker.http.installed").check_registry()
