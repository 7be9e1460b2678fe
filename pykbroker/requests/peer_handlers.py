"""The handlers that brokers of one process ask each other by."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from pykbroker.wire.apis import ApiKey

if TYPE_CHECKING:
    from pykbroker.brokers.memory_peers import PeerHandler

_MODULES = {ApiKey.FETCH: "fetch", ApiKey.LIST_OFFSETS: "list_offsets"}


def peer_handler(api_key: int) -> PeerHandler:
    """The module that serves an API to other brokers of this process."""
    return cast("PeerHandler", import_module(f"pykbroker.handlers.{_MODULES[ApiKey(api_key)]}"))
