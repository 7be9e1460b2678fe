"""The files of the page: a fixed list, so that no path leads anywhere else.

They contain no data of the broker, so browsers get them without a token, which the page sends later.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from aiohttp import web

_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_INDEX: Final = "index.html"
_VIEWS: Final = (
    *("acls", "brokers", "clients", "faults", "group", "groups", "metadata", "overview", "quotas", "settings"),
    *("schemas", "subject", "topic", "topics", "transactions"),
)
NAMES: Final = (
    *(_INDEX, "style.css", "icon.svg"),
    *(
        "app.js",
        "ask.js",
        "avro.js",
        "bounds.js",
        "bytes.js",
        "chart.js",
        "dialog.js",
        "dom.js",
        "format.js",
        "list.js",
        "partitions.js",
    ),
    *(
        "produce.js",
        "protobuf.js",
        "pulse.js",
        "record.js",
        "registry.js",
        "records.js",
        "schema.js",
        "settings.js",
        "table.js",
    ),
    *(f"views/{view}.js" for view in _VIEWS),
)
HOME: Final = "/console/"
#: Paths that browsers may request without a token.
PATHS: Final = frozenset({"/", "/console", HOME, *(HOME + name for name in NAMES)})

#: The page shows untrusted data. The policy is for the case that some of it becomes markup: no scripts but these files,
#: nothing sent to or loaded from elsewhere, and no framing by other sites.
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}


async def home(_: web.Request) -> web.StreamResponse:
    """Redirect ``/`` and ``/console`` to the page."""
    return web.Response(status=302, headers={"Location": HOME, **_HEADERS})


async def file(request: web.Request) -> web.StreamResponse:
    """Return a file of the list."""
    name = request.path.removeprefix(HOME) or _INDEX
    if name not in NAMES:
        raise web.HTTPNotFound
    kind = _TYPES[name.rpartition(".")[2]]
    return web.Response(body=_contents(name), content_type=kind, charset="utf-8", headers=_HEADERS)


@cache
def _contents(name: str) -> bytes:
    return (Path(__file__).parent / "page" / name).read_bytes()
