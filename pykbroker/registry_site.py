"""Requests to a schema registry, which may be anybody's: its answers have a most of bytes and of time."""

from __future__ import annotations

import base64
import http.client
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from pykbroker.http_deadline import opener_with_deadline

if TYPE_CHECKING:
    from email.message import Message
    from ssl import SSLContext

#: What clients of schema registries take and send.
REGISTRY_KIND: Final = "application/vnd.schemaregistry.v1+json"
#: Bytes of the body of a refusal.
_OF_REFUSAL: Final = 64 * 1024


def quoted(step: str) -> str:
    """A step of a registry's path, such as a subject, whatever it holds: also what is no text, as a command may be given or a registry may answer."""
    return quote(step, safe="", errors="surrogatepass")


class HttpAnswer(NamedTuple):
    """What a server answers: of a body that is too large one byte more than the most."""

    status: int
    reason: str
    headers: Message
    content: bytes


class _RedirectsAsAnswers(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like another: urllib would send user and password to whatever host it names."""

    def redirect_request(self, *_: Any) -> None:
        return None


class RegistrySite:
    """A schema registry by its URL, which may include a user and a password; asked by one request at a time. Raises ValueError if it is no URL.
    ``timeout_s`` is the longest time that one answer may take, ``most`` its bytes.
    """

    def __init__(
        self,
        url: str,
        timeout_s: float,
        most: int,
        *handlers: urllib.request.BaseHandler,
        context: SSLContext | None = None,
    ) -> None:
        try:
            parts = urlsplit(url)
            is_one = parts.scheme in ("http", "https") and parts.hostname and url.isprintable() and " " not in url
            self.port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            is_one = False
        if not is_one:
            raise ValueError(f"{url!r} is no URL of a schema registry; write it as http://127.0.0.1:8081.")
        self.host = parts.hostname
        self.url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
        self._timeout_s, self._most = timeout_s, most
        self._open = opener_with_deadline(_RedirectsAsAnswers(), *handlers, context=context).open
        self._headers = {"Accept": REGISTRY_KIND, "Content-Type": REGISTRY_KIND}
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(user).decode()}"

    def ask(self, path: str, method: str = "GET", body: bytes | None = None) -> HttpAnswer:
        """The answer, of any status. ``path`` begins with a slash. Raises OSError if there is none, or not the whole."""
        request = urllib.request.Request(self.url + path, body, self._headers, method=method)  # noqa: S310 - looked at above
        try:
            with self._open(request, timeout=self._timeout_s) as answer:
                content = answer.read(self._most + 1)
                if answer.length and len(content) <= self._most:  # such a ``read`` does not miss what was announced
                    raise http.client.IncompleteRead(content, answer.length)
                return HttpAnswer(answer.status, answer.reason, answer.headers, content)
        except HTTPError as error:
            content = b""
            with suppress(OSError, http.client.HTTPException), error:
                content = error.read(_OF_REFUSAL)
            return HttpAnswer(error.code, error.reason, error.headers, content)
        except URLError as error:
            raise error.reason if isinstance(error.reason, OSError) else error from error
        except (http.client.HTTPException, ValueError) as error:  # of a host that is no name
            raise OSError(str(error) or type(error).__name__) from error
