"""One HTTP request to a token issuer: with a deadline for each answer, a limit on the answer, and redirects only where no
credentials are sent and none leads from https to http.

``urllib`` alone repeats the Authorization header to whatever host a redirect names, and follows redirects from https to http.
"""

from __future__ import annotations

import http.client
import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit

from pykbroker.http_deadline import opener_with_deadline

if TYPE_CHECKING:
    from http.client import HTTPMessage
    from ssl import SSLContext

_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 1024 * 1024


def answer_of(
    url: str,
    context: SSLContext | None,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = _TIMEOUT_S,
) -> bytes:
    """The answer to a GET or, with a ``body``, a POST; ``url`` must be http or https. With a body or headers, which may be
    credentials, no redirect is followed. Raises OSError, of which HTTPError is for every status but success, and ValueError.
    """
    carries = body is not None or bool(headers)
    opener = opener_with_deadline(_NoRedirects() if carries else _SafeRedirects(), context=context)
    request = urllib.request.Request(url, body, dict(headers or {}))  # noqa: S310 - the caller checks the scheme
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            data: bytes = answer.read(_MOST_BYTES + 1)
    except http.client.HTTPException as error:
        raise OSError(f"the answer is not HTTP: {error!r}") from error
    except HTTPError as error:
        error.close()
        raise
    if len(data) > _MOST_BYTES:
        raise ValueError(f"the answer has more than {_MOST_BYTES} bytes")
    return data


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Answers a redirect with the error that says where it leads."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        raise HTTPError(
            req.full_url,
            code,
            f"it redirects to {newurl!r}, and credentials are not sent on: set this URL",
            headers,
            fp,
        )


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, except from https to http, where whoever is on the way could answer in the issuer's place, and to
    other protocols, such as ftp.
    """

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme.lower() not in ("https", req.type):
            raise HTTPError(req.full_url, code, f"it redirects from {req.type} to {newurl!r}", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
