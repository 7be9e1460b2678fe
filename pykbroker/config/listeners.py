"""Parses listeners (``NAME://host:port``) and the map of their security protocols."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from pykbroker.config.setting import ConfigError, invalid

SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DEFAULT_PROTOCOLS: Final = {name: name for name in SECURITY_PROTOCOLS}

_ENTRY: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


class Listener(NamedTuple):
    """One entry. ``host`` is None for all addresses of the machine (an empty host in the setting)."""

    name: str
    security_protocol: str
    host: str | None
    port: int


def protocol_map(text: str) -> dict[str, str]:
    """``listener.security.protocol.map`` as listener name to protocol. Raises ConfigError."""
    setting = "listener.security.protocol.map"
    protocols: dict[str, str] = {}
    for entry in filter(None, (entry.strip() for entry in text.split(","))):
        name, colon, protocol = entry.rpartition(":")
        protocol = protocol.upper()
        if not colon or protocol not in SECURITY_PROTOCOLS:
            raise invalid(
                setting, entry, f"each entry must be NAME:PROTOCOL with one of {', '.join(SECURITY_PROTOCOLS)}"
            )
        protocols[name.strip().upper()] = protocol
    return protocols


def parse_listeners(setting: str, entries: Iterable[str], protocols: Mapping[str, str]) -> list[Listener]:
    """The entries of ``listeners`` or ``advertised.listeners``. Raises ConfigError, naming ``setting``."""
    listeners = [parse_listener(entry, protocols, setting) for entry in entries]
    if len({listener.name for listener in listeners}) < len(listeners):
        raise ConfigError(f"Each listener must have a different name, {setting}: {', '.join(entries)}")
    return listeners


def parse_listener(text: str, protocols: Mapping[str, str] = DEFAULT_PROTOCOLS, setting: str = "listeners") -> Listener:
    """One entry, ``NAME://host:port``. Raises ConfigError, naming ``setting``."""
    found = _ENTRY.fullmatch(text)
    if found is None:
        raise invalid(setting, text, "a listener is written NAME://HOST:PORT, with an empty host for every address")
    name, host, port = found[1].upper(), found[2] or None, int(found[3])
    if name not in protocols:
        raise invalid(
            setting,
            text,
            f"no security protocol is defined for listener {name}; add it to listener.security.protocol.map",
        )
    if not 0 <= port <= 65535:
        raise invalid(setting, text, "a port is a number from 0 to 65535")
    return Listener(name, protocols[name], host, port)


def check_ports(listeners: Iterable[Listener]) -> None:
    """No two listeners on one address and port; port 0 (any free one) may repeat. Raises ConfigError."""
    taken: dict[int, list[Listener]] = {}
    for listener in listeners:
        if listener.port != 0:
            taken.setdefault(listener.port, []).append(listener)
    for port, sharing in taken.items():
        families = [":" in listener.host if listener.host else None for listener in sharing]
        if len(sharing) > 1 and sorted(map(str, families)) != ["False", "True"]:  # IPv4 beside IPv6 is allowed
            names = ", ".join(listener.name for listener in sharing)
            raise ConfigError(f"Each listener must have a different port: {names} are all on port {port}")
