"""Checks the origin of changes sent by browsers; other sites' pages are refused.

The broker's own page is the one whose host and port are those that the request is for. Its scheme is the browser's matter: a proxy
that ends TLS hands on a request of ``https://`` as one of ``http://``, with the Host as the browser knows it. That a Host is ours is
seen to before (``guard.py``): where the name of others points here, their page and the Host would agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_ORIGIN: Final = re.compile(r"(https?)://([^/?#@\s]+)", re.ASCII)
_ADDRESS: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:,\s]+)(?::([0-9]{1,5}))?", re.ASCII)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
#: What a browser says of a request of the page itself, over TLS or on this machine; no page can say it.
_OWN_SITE: Final = ("same-origin",)


def is_own(origins: Sequence[str], hosts: Sequence[str], sites: Sequence[str]) -> bool:
    """Whether a request comes from the broker's own page, or from no page at all. The values are those of the headers ``Origin``,
    ``Host`` and ``Sec-Fetch-Site``.
    """
    if any(site not in _OWN_SITE for site in sites):
        return False
    return not origins or (len(origins) == len(hosts) == 1 and _agree(origins[0], hosts[0]))


def _agree(origin: str, host: str) -> bool:
    """A port that is not said is the scheme's own, in both."""
    found = _ORIGIN.fullmatch(origin.lower())
    if found is None:
        return False
    port = _DEFAULT_PORTS[found[1]]
    page = _address(found[2], port)
    return page is not None and page == _address(host.lower(), port)


def _address(text: str, default_port: int) -> tuple[str, int] | None:
    found = _ADDRESS.fullmatch(text)
    return None if found is None else (found[1], int(found[2] or default_port))
