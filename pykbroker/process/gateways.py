"""By which address this machine (or container) reaches other networks: who comes from there came through a mapped port.

As the kernel of Linux has it now, for networks come and go while a container runs. Elsewhere there is none.
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
    """The gateways of the default routes, as addresses."""
    return frozenset((*gateways(_text(_ROUTES)), *gateways_6(_text(_ROUTES_6))))


def gateways(routes: str) -> Iterator[str]:
    """Of IPv4. A line has interface, destination, gateway, flags, three counts and the mask: numbers as the machine has them."""
    for line in routes.splitlines()[1:]:
        _, destination, gateway, *_ = line.split()
        if int(destination, 16) == 0 and int(gateway, 16):
            yield str(ipaddress.IPv4Address(int(gateway, 16).to_bytes(4, sys.byteorder)))


def gateways_6(routes: str) -> Iterator[str]:
    """Of IPv6. A line has destination and its length, source and its length, gateway, metric, two counts, flags, interface:
    addresses as they are sent.
    """
    for line in routes.splitlines():
        destination, length, _, _, gateway, *_ = line.split()
        if int(destination, 16) == 0 and int(length, 16) == 0 and int(gateway, 16):
            yield str(ipaddress.IPv6Address(bytes.fromhex(gateway)))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # no such table: another system, or IPv6 is off
        return ""
