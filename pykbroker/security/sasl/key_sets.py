"""The keys of token issuers (``sasl.oauthbearer.jwks.endpoint.url``): in a file, or at a URL, which is fetched again at
intervals and when a token names an unknown key.

Only the start waits for a fetch: a client whose key is new is authenticated at its next attempt.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING, Final

from pykbroker.runtime.waits import attempt
from pykbroker.security.http_request import answer_of
from pykbroker.security.sasl.signed_tokens import KeySetError, VerificationKey, find_key, parse_key_set

if TYPE_CHECKING:
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.timers import Timer

log = logging.getLogger(__name__)

#: Unknown key ids that are remembered, for how long they cause no other fetch, and the longest id.
_MOST_MISSING: Final = 16
_MISSING_S: Final = 60.0
_LONGEST_NAME: Final = 1000

Keys = tuple[VerificationKey, ...]


class KeySet:
    """Keys in a file, which is read again when it has changed."""

    def __init__(self, path: Path) -> None:
        """Raises KeySetError or OSError."""
        self._path = path
        self._version = _version(path)
        self._keys = parse_key_set(path.read_bytes())
        #: The last error, which is logged once.
        self._failure = ""

    def find(self, kid: str | None, algorithm: str) -> VerificationKey | None:
        """The key for a token; the present keys remain if the file has become unreadable."""
        try:
            self._read_if_changed()
            self._failure = ""
        except (OSError, KeySetError) as error:
            if str(error) != self._failure:
                self._failure = str(error)
                log.warning("OAUTHBEARER keeps its present keys: %s cannot be read: %s", self._path, error)
        return find_key(self._keys, kid, algorithm)

    def _read_if_changed(self) -> None:
        version = _version(self._path)
        if version != self._version:
            data = self._path.read_bytes()
            self._version = version  # of a broken file too: it is not read again before it changes
            self._keys = parse_key_set(data)

    def follow(self, runtime: Runtime) -> None:
        """Nothing to schedule: the file is checked whenever a key is needed."""


def _version(path: Path) -> tuple[int, int]:
    """(time of the last change, size): the size too, since a file may be read while it is written."""
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size


class RemoteKeySet:
    """Keys at a URL. ``fetch`` reads them, in a thread except at the start."""

    def __init__(self, fetch: Callable[[], Keys], refresh_ms: int, backoff_ms: int, most_backoff_ms: int) -> None:
        """Raises what ``fetch`` raises: KeySetError or OSError."""
        self._fetch = fetch
        self._refresh_ms = refresh_ms
        self._backoff_ms = backoff_ms
        self._most_backoff_ms = most_backoff_ms
        self._keys = fetch()
        self._runtime: Runtime | None = None
        self._next: Timer | None = None
        self._fetching = False
        self._failures = 0
        self._missing: OrderedDict[str, float] = OrderedDict()

    def follow(self, runtime: Runtime) -> None:
        """Fetch again at intervals, from now on."""
        self._runtime = runtime
        self._fetching = False
        self._ask_after(runtime, self._refresh_ms)

    def find(self, kid: str | None, algorithm: str) -> VerificationKey | None:
        """The key for a token. An unknown one starts a fetch, so that the client's next attempt may succeed."""
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
        if self._fetching:
            return
        self._fetching = True
        taken = attempt(runtime.offload_read, self._fetch).map(partial(self._take, runtime))
        taken.recover(Exception, partial(self._put_off, runtime)).or_log("fetching the keys of OAUTHBEARER")

    def _take(self, runtime: Runtime, keys: Keys) -> None:
        if runtime is not self._runtime:
            return
        self._fetching = False
        self._keys = keys
        self._failures = 0
        for key in keys:
            self._missing.pop(key.kid or "", None)
        self._ask_after(runtime, self._refresh_ms)

    def _put_off(self, runtime: Runtime, error: Exception) -> None:
        if runtime is not self._runtime:
            return
        self._fetching = False
        delay_ms = min(self._backoff_ms << min(self._failures, 20), self._most_backoff_ms)
        self._failures += 1
        log.warning("OAUTHBEARER keeps its present keys; fetching them again in %d ms: %s", delay_ms, error)
        self._ask_after(runtime, delay_ms)

    def _ask_after(self, runtime: Runtime, ms: int) -> None:
        if self._next is not None:
            self._next.cancel()
        self._next = runtime.timers.after(ms, partial(self._ask, runtime))


def fetch_keys(url: str, context: SSLContext | None) -> Keys:
    """The keys at an http(s) URL. Raises KeySetError."""
    try:
        return parse_key_set(answer_of(url, context))
    except (OSError, ValueError) as error:
        raise KeySetError(f"{url} returned no keys: {error}") from error
