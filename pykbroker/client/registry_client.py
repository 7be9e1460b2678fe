"""Asks a schema registry, pykbroker's own or another: one request at a time, without redirects, which would carry a password elsewhere."""

from __future__ import annotations

import json
import ssl
import urllib.request
from typing import Any

from pykbroker.client.errors import ClientError, Unreachable, UsageError
from pykbroker.registry_site import RegistrySite
from pykbroker.runtime.escaping import escaped

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
        context = ssl.create_default_context(cadata=authority) if url.startswith("https:") else None
        try:
            self._site = RegistrySite(url, timeout_s, _LARGEST, urllib.request.ProxyHandler({}), context=context)
        except ValueError as error:
            raise UsageError(str(error)) from None

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer, decoded. Raises ClientError with the registry's message, and Unreachable."""
        registry = f"The schema registry at {self._site.host}:{self._site.port}"
        try:
            answer = self._site.ask(path, method, None if body is None else json.dumps(body).encode())
        except OSError as error:
            raise Unreachable(f"{registry} cannot be asked: {escaped(str(error) or type(error).__name__)}") from None
        if len(answer.content) > _LARGEST:
            raise ClientError(f"{registry} answers with more than {_LARGEST} bytes.")
        try:
            found = json.loads(answer.content) if answer.content else None
        except (ValueError, RecursionError):
            found = None
        if answer.status >= 300:
            said = found.get("message") if isinstance(found, dict) else None
            code = found.get("error_code") if isinstance(found, dict) else None
            told = str(said or answer.reason)[:_SHOWN]
            raise ClientError(f"{registry} refuses this ({code or answer.status}): {escaped(told)}")
        return found
