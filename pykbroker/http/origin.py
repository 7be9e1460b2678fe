"""Checks the origin of changes sent by browsers; pages of other sites are refused.

The broker's own page has the host and port that the request is for. The scheme is not compared: behind a proxy that
terminates TLS, a request of an ``https://`` page arrives by ``http://``, with the Host as the browser knows it.
``guard.py`` has checked that the Host is the broker's: with DNS rebinding, another site's page and Host would agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_ORIGIN: Final = re.compile(r"(https?)://([^/?#@\s]+)", re.ASCII)
_ADDRESS: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:,\s]+)(?::([0-9]{1,5}))?", re.ASCII)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
#: Sec-Fetch-Site of the page's own requests over TLS or on this machine; pages cannot set it.
_OWN_SITE: Final = ("same-origin",)


def is_own(origins: Sequence[str], hosts: Sequence[str], sites: Sequence[str]) -> bool:
    """Whether a request comes from the broker's own page, or from no page.

    The values are those of the headers ``Origin``, ``Host`` and ``Sec-Fetch-Site``.
    """
    if any(site not in _OWN_SITE for site in sites):
        return False
    return not origins or (len(origins) == len(hosts) == 1 and _agree(origins[0], hosts[0]))


def _agree(origin: str, host: str) -> bool:
    """Compare host and port; a missing port is the scheme's default."""
    found = _ORIGIN.fullmatch(origin.lower())
    if found is None:
        return False
    port = _DEFAULT_PORTS[found[1]]
    page = _address(found[2], port)
    return page is not None and page == _address(host.lower(), port)


def _address(text: str, default_port: int) -> tuple[str, int] | None:
    found = _ADDRESS.fullmatch(text)
    return None if found is None else (found[1], int(found[2] or default_port))
