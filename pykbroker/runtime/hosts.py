"""Names of hosts. Looking one up may take seconds: to be called in a thread (``Runtime.offload``)."""

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


def addresses(names: frozenset[str]) -> dict[str, str]:
    """The address that each name stands for, of version 4 before 6, as the ``ipaddress`` module writes it; without those that
    cannot be resolved.
    """
    found = {name: _address(name) for name in names}
    return {name: address for name, address in found.items() if address is not None}


def _address(name: str) -> str | None:
    if is_address(name):
        return str(ipaddress.ip_address(name))
    try:
        every = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return str(min(every, key=lambda each: each[0] != socket.AF_INET)[4][0])


def _resolves(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True
