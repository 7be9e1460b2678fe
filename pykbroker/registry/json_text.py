"""Parses JSON of strangers so that other threads run in between: the usual scanner, in C, lets none run before its end."""

from __future__ import annotations

import json
from json.scanner import py_make_scanner  # type: ignore[attr-defined] # it is always there
from typing import Any, Final

#: Shorter texts take less than a millisecond.
_SHORT: Final = 64 * 1024


class _FairScanner(json.JSONDecoder):
    """Scans in Python; strings, which make large texts large, are scanned as fast."""

    def __init__(self) -> None:
        super().__init__()
        self.scan_once = py_make_scanner(self)


_FAIR: Final = _FairScanner()


def loads(text: str) -> Any:
    """The value. Raises ValueError and RecursionError."""
    return json.loads(text) if len(text) <= _SHORT else _FAIR.decode(text)
