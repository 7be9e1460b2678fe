"""The default gateways of this machine or container: a client from there came through a mapped port.

Read from Linux's routing tables each time, since networks change while a container runs. Other systems have none.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ROUTES: Final = Path("/proc/net/route")
_ROUTES_6: Final = Path("/proc/net/ipv6_route")


def default_gateways() -> frozenset[str]:
    """The addresses of the default routes' gateways."""
    return frozenset((*gateways(_text(_ROUTES)), *gateways_6(_text(_ROUTES_6))))


def gateways(routes: str) -> Iterator[str]:
    """IPv4 gateways. A line has interface, destination, gateway, flags, three counts and the mask, in the machine's byte order."""
    for line in routes.splitlines()[1:]:
        _, destination, gateway, *_ = line.split()
        if int(destination, 16) == 0 and int(gateway, 16):
            yield str(ipaddress.IPv4Address(int(gateway, 16).to_bytes(4, sys.byteorder)))


def gateways_6(routes: str) -> Iterator[str]:
    """IPv6 gateways. A line has destination and prefix length, source and prefix length, gateway, metric, two counts, flags and
    interface; addresses in network byte order.
    """
    for line in routes.splitlines():
        destination, length, _, _, gateway, *_ = line.split()
        if int(destination, 16) == 0 and int(length, 16) == 0 and int(gateway, 16):
            yield str(ipaddress.IPv6Address(bytes.fromhex(gateway)))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # no such table: another system, or IPv6 is disabled
        return ""
