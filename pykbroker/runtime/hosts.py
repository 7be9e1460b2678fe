"""Whether a name is that of a host. Looking it up may take seconds: to be called in a thread (``Cluster.offload``)."""

from __future__ import annotations

import ipaddress
import socket


def is_address(name: str) -> bool:
    """True for an IP address as it is written; needs no look-up."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def unknown_hosts(names: frozenset[str]) -> frozenset[str]:
    """Those of the names that cannot be resolved to an address."""
    return frozenset(name for name in names if not _resolves(name))


def _resolves(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True
