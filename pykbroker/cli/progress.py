"""A progress line on a terminal; nothing in a pipe or a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from pykbroker.runtime.escaping import escaped

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

_INTERVAL_S = 0.5
_CLEAR = "\r\x1b[2K"


class ProgressLine:
    """Rewrites one line on standard error, twice a second at most, if that is a terminal."""

    def __init__(self, clock: Clock, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self.shows = self._stream.isatty()
        self._due = clock.monotonic() + _INTERVAL_S
        self._dirty = False

    def tell(self, text: str) -> None:
        """Show ``text`` in place of the last one, at most twice a second."""
        if self.shows and self._clock.monotonic() >= self._due:
            self._stream.write(_CLEAR + escaped(text))
            self._stream.flush()
            self._dirty = True
            self._due = self._clock.monotonic() + _INTERVAL_S

    def done(self) -> None:
        """Clear the line."""
        if self._dirty:
            self._stream.write(_CLEAR)
            self._stream.flush()
            self._dirty = False
