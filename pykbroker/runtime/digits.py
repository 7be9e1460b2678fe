"""Numbers in a stranger's words. Pure."""

from __future__ import annotations


def number(digits: str, most: int) -> int | None:
    """The number that is written with these decimal digits; None for other characters, for none, and for more than ``most`` digits: int()
    refuses thousands of them, in words of its own.
    """
    return int(digits) if len(digits) <= most and digits.isdecimal() else None
