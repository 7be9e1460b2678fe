"""Patterns that serve until those of the room made for them are here."""

from __future__ import annotations

import re


class InvalidPattern(ValueError):
    """A pattern that does not compile; the text says why."""


class Pattern:
    """A compiled pattern."""

    def __init__(self, compiled: re.Pattern[str]) -> None:
        self._compiled = compiled

    def matches(self, topic_name: str) -> bool:
        """Whether the whole name matches."""
        return self._compiled.fullmatch(topic_name) is not None


def compile_pattern(text: str) -> Pattern:
    """Raises InvalidPattern."""
    try:
        return Pattern(re.compile(text))
    except re.error as error:
        raise InvalidPattern(str(error)) from error
