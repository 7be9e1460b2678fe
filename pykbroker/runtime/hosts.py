"""Resolves host names, which may take seconds: call it in a thread (``Runtime.offload``)."""

from __future__ import annotations

import ipaddress
import socket


def is_address(name: str) -> bool:
    """Whether the name is an IP address, which needs no look-up."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def unknown_hosts(names: frozenset[str]) -> frozenset[str]:
    """The names that cannot be resolved."""
    return frozenset(name for name in names if not _resolves(name))


def addresses(names: frozenset[str]) -> dict[str, str]:
    """The address of each name, IPv4 before IPv6, as the ``ipaddress`` module writes it; names that cannot be resolved are
    left out.
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
