"""Parses JSON of strangers so that other threads run in between: the usual scanner, in C, lets none run before its end."""

from __future__ import annotations

import json
from json.scanner import py_make_scanner  # type: ignore[attr-defined] # it is always there
from math import isinf
from typing import Any, Final, NoReturn

#: Shorter texts take less than a millisecond.
_SHORT: Final = 64 * 1024
#: Levels of nesting in a schema, its metadata and its rules.
DEEPEST: Final = 100
#: The characters of a number, and of a word.
_SCALAR: Final = 5


def finite_number(text: str) -> float:
    """A number within the range of a double. Raises ValueError."""
    found = float(text)
    if isinf(found):
        raise ValueError(f"{text[:20]} is out of the range of numbers")
    return found


def no_number(word: str) -> NoReturn:
    """Raises ValueError: Python also reads and writes ``NaN`` and ``Infinity``."""
    raise ValueError(f"{word} is no number of JSON")


class _FairScanner(json.JSONDecoder):
    """Scans in Python; strings, which make large texts large, are scanned as fast."""

    def __init__(self) -> None:
        super().__init__(parse_float=finite_number, parse_constant=no_number)
        self.scan_once = py_make_scanner(self)


_FAIR: Final = _FairScanner()
_FAST: Final = json.JSONDecoder(parse_float=finite_number, parse_constant=no_number)


def is_larger(value: Any, most: int) -> bool:
    """Whether a value of JSON has more than about ``most`` characters, or levels beyond those of a schema."""
    level = [value]
    for _ in range(DEEPEST):
        following: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                most -= sum(map(len, each)) + 4 * len(each)
                following += each.values()
            elif isinstance(each, list):
                most -= 2 * len(each)
                following += each if most >= 0 else ()
            else:
                most -= len(each) if isinstance(each, str) else _SCALAR
            if most < 0:
                return True
        if not following:
            return False
        level = following
    return True


def loads(text: str) -> Any:
    """The value, of the standard's JSON alone. Raises ValueError and RecursionError."""
    return (_FAST if len(text) <= _SHORT else _FAIR).decode(text)
