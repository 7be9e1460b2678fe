"""Asks a schema registry, pykbroker's own or another: one request at a time, without redirects, which would carry a password elsewhere."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from typing import Any
from urllib.parse import unquote, urlsplit

from pykbroker.client.errors import ClientError, Unreachable, UsageError
from pykbroker.http_deadline import TimedHttpConnection, TimedHttpsConnection
from pykbroker.runtime.escaping import escaped

_KIND = "application/vnd.schemaregistry.v1+json"
_LARGEST = 64 * 1024 * 1024
_SHOWN = 2000


def no_registry() -> ClientError:
    """The error for an answer that no registry gives."""
    return ClientError("This is no answer of a schema registry; look whether the URL is its.")


class RegistryClient:
    """A registry by its URL, which may include a user and a password. ``authority`` is a certificate in PEM to trust, in place of the
    system's. Raises UsageError if it is no URL.
    """

    def __init__(self, url: str, timeout_s: float, authority: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is no URL of a schema registry; write it as http://127.0.0.1:8081.")
        self._parts = parts
        self._timeout_s = timeout_s
        self._authority = authority
        self._headers = {"Accept": _KIND, "Content-Type": _KIND}
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(user).decode()}"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer, decoded. Raises ClientError with the registry's message, and Unreachable."""
        where = f"{self._parts.hostname}:{self._parts.port or (443 if self._parts.scheme == 'https' else 80)}"
        connection = self._connection()
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, self._parts.path.rstrip("/") + path, sent, self._headers)
            answer = connection.getresponse()
            content = answer.read(_LARGEST + 1)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(
                f"The schema registry at {where} cannot be asked: {escaped(str(error) or type(error).__name__)}"
            ) from None
        finally:
            connection.close()
        if len(content) > _LARGEST:
            raise ClientError(f"The schema registry at {where} answers with more than {_LARGEST} bytes.")
        try:
            found = json.loads(content) if content else None
        except (ValueError, RecursionError):
            found = None
        if answer.status >= 300:
            said = found.get("message") if isinstance(found, dict) else None
            code = found.get("error_code") if isinstance(found, dict) else None
            told = str(said or answer.reason)[:_SHOWN]
            raise ClientError(f"The schema registry at {where} refuses this ({code or answer.status}): {escaped(told)}")
        return found

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return TimedHttpsConnection(host, port, timeout=self._timeout_s, context=self._trusted())
        return TimedHttpConnection(host, port, timeout=self._timeout_s)

    def _trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self._authority)
