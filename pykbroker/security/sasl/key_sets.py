"""Where the keys of issuers come from (``sasl.oauthbearer.jwks.endpoint.url``): a file, or an address, which is asked again
from time to time, and when a token names a key that is not known.

Nobody waits for an answer from there but the start: whoever has a new key is let in at his next try.
"""

from __future__ import annotations

import logging
import urllib.error
import urllib.request
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING, Final

from pykbroker.runtime.clock import SystemClock
from pykbroker.runtime.waits import attempt
from pykbroker.security.sasl.signed_tokens import KeySetError, VerificationKey, find_key, parse_key_set

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.timers import Timer

log = logging.getLogger(__name__)

_PATIENCE_S: Final = 10.0
_MOST_BYTES: Final = 1024 * 1024
#: Names of keys that were asked for in vain, how long they are not asked for again, and how long a name may be.
_MOST_MISSING: Final = 16
_MISSING_S: Final = 60.0
_LONGEST_NAME: Final = 1000

Keys = tuple[VerificationKey, ...]


class KeySet:
    """Keys in a file, which is read again when it has changed. Raises KeySetError or OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed = path.stat().st_mtime_ns
        self._keys = parse_key_set(path.read_bytes())

    def find(self, kid: str | None, algorithm: str) -> VerificationKey | None:
        """The key for a token."""
        try:
            changed = self._path.stat().st_mtime_ns
            if changed != self._changed:
                self._keys = parse_key_set(self._path.read_bytes())
                self._changed = changed
        except (OSError, KeySetError) as error:
            log.warning("OAUTHBEARER keeps the keys that it has: %s cannot be read: %s", self._path, error)
        return find_key(self._keys, kid, algorithm)

    def follow(self, runtime: Runtime) -> None:
        """The file is looked at whenever a key is wanted."""


class RemoteKeySet:
    """Keys of an address. ``fetch`` reads them, in a thread but at the start; raises KeySetError or OSError."""

    def __init__(self, fetch: Callable[[], Keys], refresh_ms: int, backoff_ms: int, most_backoff_ms: int) -> None:
        self._fetch = fetch
        self._refresh_ms = refresh_ms
        self._backoff_ms = backoff_ms
        self._most_backoff_ms = most_backoff_ms
        self._keys = fetch()
        self._runtime: Runtime | None = None
        self._next: Timer | None = None
        self._asking = False
        self._failures = 0
        self._missing: OrderedDict[str, float] = OrderedDict()

    def follow(self, runtime: Runtime) -> None:
        """From now on there is time, in which keys may change."""
        self._runtime = runtime
        self._asking = False
        self._ask_after(runtime, self._refresh_ms)

    def find(self, kid: str | None, algorithm: str) -> VerificationKey | None:
        """The key for a token; where there is none, the next try may have it."""
        key = find_key(self._keys, kid, algorithm)
        if key is None and isinstance(kid, str) and len(kid) <= _LONGEST_NAME and self._runtime is not None:
            self._miss(self._runtime, kid)
        return key

    def _miss(self, runtime: Runtime, kid: str) -> None:
        now = runtime.clock.monotonic()
        if self._missing.get(kid, now) > now:
            return
        self._missing[kid] = now + _MISSING_S
        self._missing.move_to_end(kid)
        if len(self._missing) > _MOST_MISSING:
            self._missing.popitem(last=False)
        self._ask(runtime)

    def _ask(self, runtime: Runtime) -> None:
        if self._asking:
            return
        self._asking = True
        taken = attempt(runtime.offload_read, self._fetch).map(partial(self._take, runtime))
        taken.recover(Exception, partial(self._put_off, runtime)).or_log("asking for the keys of OAUTHBEARER")

    def _take(self, runtime: Runtime, keys: Keys) -> None:
        if runtime is not self._runtime:
            return
        self._asking = False
        self._keys = keys
        self._failures = 0
        for key in keys:
            self._missing.pop(key.kid or "", None)
        self._ask_after(runtime, self._refresh_ms)

    def _put_off(self, runtime: Runtime, error: Exception) -> None:
        if runtime is not self._runtime:
            return
        self._asking = False
        delay_ms = min(self._backoff_ms << min(self._failures, 20), self._most_backoff_ms)
        self._failures += 1
        log.warning("OAUTHBEARER keeps the keys that it has, and asks for them again in %d ms: %s", delay_ms, error)
        self._ask_after(runtime, delay_ms)

    def _ask_after(self, runtime: Runtime, ms: int) -> None:
        if self._next is not None:
            self._next.cancel()
        self._next = runtime.timers.after(ms, partial(self._ask, runtime))


def fetch_keys(url: str, context: SSLContext | None) -> Keys:
    """What an address has. Raises OSError or KeySetError."""
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE_S, context=context) as answer:  # noqa: S310 - http(s), see below
            return parse_key_set(_body(answer))
    except (OSError, ValueError) as error:
        raise KeySetError(f"{url} gave no keys: {error}") from error


def _body(answer: HTTPResponse) -> bytes:
    """The timeout of a socket is for each piece of it, and pieces may be as small as they like. Raises KeySetError."""
    body, ends = bytearray(), SystemClock().monotonic() + _PATIENCE_S
    while len(body) < _MOST_BYTES and (piece := answer.read1(_MOST_BYTES - len(body))):
        if SystemClock().monotonic() > ends:
            raise KeySetError(f"it took longer than {_PATIENCE_S:g} s")
        body += piece
    return bytes(body)
