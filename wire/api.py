"""An API of the protocol, as in Kafka's schemas."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple, cast

from pykbroker.wire.message import Message

API_VERSIONS = 18


class Api(NamedTuple):
    """An API key's name, versions and message classes.

    ``listeners`` says where Kafka serves it: "broker", "controller" or both. ``latest_unstable`` marks an API whose
    highest version is not yet final, and is not offered by default.
    """

    key: int
    name: str
    min_version: int
    max_version: int
    flexible_from: int
    listeners: tuple[str, ...]
    module: str
    latest_unstable: bool = False

    @property
    def request(self) -> type[Message]:
        """The class of its requests; its module is imported on first use, for a quick start."""
        return cast(
            "type[Message]", getattr(import_module(f"pykbroker.wire.messages.{self.module}"), f"{self.name}Request")
        )

    @property
    def response(self) -> type[Message]:
        """The class of its responses."""
        return cast(
            "type[Message]", getattr(import_module(f"pykbroker.wire.messages.{self.module}"), f"{self.name}Response")
        )

    def request_header_version(self, version: int) -> int:
        """The request header version for a version of the API (KIP-482)."""
        return 2 if version >= self.flexible_from else 1

    def response_header_version(self, version: int) -> int:
        """The response header version; always 0 for ApiVersions, whose sender may not know the broker's versions (KIP-511)."""
        return 1 if version >= self.flexible_from and self.key != API_VERSIONS else 0
