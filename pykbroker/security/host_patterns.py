"""Hosts of access lists: an address, ``*`` for all, or since metadata.version 4.4-IV1 a range of addresses in CIDR notation.

Rules and messages: AclControlManager.validateHostPattern and CidrUtils of Kafka 4.4.0.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from typing import Final, NamedTuple

from pykbroker.security.resources import WILDCARD

#: The metadata.version from which on a host may be a range.
RANGES_SINCE: Final = 32
_OCTETS: Final = r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})"
_IPV4: Final = re.compile(_OCTETS, re.ASCII)
_IPV4_RANGE: Final = re.compile(_OCTETS + r"/(\d{1,2})", re.ASCII)
_PREFIX: Final = re.compile(r"[+-]?\d{1,10}", re.ASCII)


class HostPatternError(ValueError):
    """A host is no range in CIDR notation; the message says why."""


class _Range(NamedTuple):
    """Addresses with the same first bits; ``bits`` are all that an address has."""

    address: int
    prefix: int
    bits: int

    def has(self, address: int) -> bool:
        return (self.address ^ address) >> (self.bits - self.prefix) == 0


def check_range(host: str) -> None:
    """Raises HostPatternError unless ``host``, which has a slash, is a range of IPv4 or IPv6 addresses."""
    _parsed(host)


def matches(pattern: str, host: str) -> bool:
    """Whether an access list for ``pattern`` applies to a client at the address ``host``."""
    if pattern in (host, WILDCARD):
        return True
    return "/" in pattern and _is_in(pattern, host)


@lru_cache(maxsize=1024)
def _range_of(pattern: str) -> _Range | None:
    try:
        return _parsed(pattern)
    except HostPatternError:  # lists of earlier releases may have any text
        return None


def _is_in(pattern: str, host: str) -> bool:
    addresses = _range_of(pattern)
    if addresses is None or (":" in host) != (addresses.bits == 128):
        return False
    try:
        address = _ipv6(host) if ":" in host else _ipv4(host)
    except HostPatternError:
        return False
    # Kafka finds 0.0.0.0 in no range.
    return addresses.has(address) and (address != 0 or addresses.bits == 128)


def _parsed(host: str) -> _Range:
    if ":" in host:
        return _ipv6_range(host)
    found = _IPV4_RANGE.fullmatch(host)
    if found is None:
        raise HostPatternError(f"Could not parse [{host}]")
    *octets, prefix = map(int, found.groups())
    address = _of_octets(octets)
    if prefix > 32:
        raise HostPatternError(f"Value [{prefix}] not in range [0,32]")
    return _Range(address, prefix, 32)


def _ipv6_range(host: str) -> _Range:
    text, _, prefix = host.partition("/")
    if not _PREFIX.fullmatch(prefix):
        raise HostPatternError(f"Could not parse [{host}] - invalid prefix length")
    if not 0 <= int(prefix) <= 128:
        raise HostPatternError(f"Could not parse [{host}] - prefix length must be between 0 and 128")
    return _Range(_ipv6(text), int(prefix), 128)


def _ipv4(text: str) -> int:
    found = _IPV4.fullmatch(text)
    if found is None:
        raise HostPatternError(f"Could not parse [{text}]")
    return _of_octets([int(octet) for octet in found.groups()])


def _of_octets(octets: list[int]) -> int:
    for octet in octets:
        if octet > 255:
            raise HostPatternError(f"Value [{octet}] not in range [0,255]")
    return int.from_bytes(bytes(octets), "big")


def _ipv6(text: str) -> int:
    """The scope of an address does not count, as in Kafka."""
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    address_text, percent, scope = bare.partition("%")
    try:
        if percent and not scope:
            raise AddressValueError("an empty scope")
        address = IPv6Address(address_text)
    except AddressValueError as error:
        raise HostPatternError(f"Could not parse [{text}]") from error
    if address.ipv4_mapped is not None:
        raise HostPatternError(f"Could not parse [{text}] - not an IPv6 address")
    return int(address)
