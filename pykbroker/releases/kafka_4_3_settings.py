"""The settings of Kafka 4.3, as 4.3.1 describes them: those of today without what 4.4 added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pykbroker.config.definitions.definition_set import CURRENT, Definitions
from pykbroker.config.setting import Setting

#: Settings that came with 4.4: names, and beginnings of names that end with a dot.
_LATER: Final = (
    "errors.deadletterqueue.",
    "group.streams.assignors",
    "group.streams.rack.aware.",
    "group.streams.topology.description.",
    "log.remote.copy.lag.",
    "max.decompressed.message.bytes",
    "remote.copy.lag.",
    "sasl.oauthbearer.allow.unverified.",
    "streams.assignor.name",
    "streams.rack.aware.",
)


def _without_later(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Internal ones stay: nobody sees them who does not set them."""
    return {name: setting for name, setting in settings.items() if setting.internal or not begins(name, _LATER)}


def begins(name: str, beginnings: tuple[str, ...]) -> bool:
    """Whether a name is one of these, or begins with one that ends with a dot."""
    return any(name == each or (each.endswith(".") and name.startswith(each)) for each in beginnings)


DEFINITIONS: Final[Definitions] = CURRENT._replace(
    release="4.3",
    broker=_without_later(CURRENT.broker),
    topics=_without_later(CURRENT.topics),
    groups=_without_later(CURRENT.groups),
    names_bounds=True,
    beneath={f"sasl.oauthbearer.allow.unverified.{claim}": None for claim in ("audience", "issuer")},
)
