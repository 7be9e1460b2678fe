"""Ranges of versions and their algebra."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

HIGHEST = 0x7FFF


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions from ``low`` to ``high``, both included; none when ``low`` is above ``high``."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Read the notation of the schemas: ``3``, ``3-5``, ``3+`` or ``none``."""
        if text == "none":
            return NONE
        if text.endswith("+"):
            return cls(int(text[:-1]), HIGHEST)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __bool__(self) -> bool:
        return self.low <= self.high

    def __and__(self, other: Versions) -> Versions:
        both = Versions(max(self.low, other.low), min(self.high, other.high))
        return both or NONE

    def __or__(self, other: Versions) -> Versions:
        """The smallest range that holds both."""
        if not self or not other:
            return self or other
        return Versions(min(self.low, other.low), max(self.high, other.high))

    def covers(self, other: Versions) -> bool:
        """Whether every version of ``other`` is in this range."""
        return not other or (self.low <= other.low and other.high <= self.high)

    def below(self, version: int) -> Versions:
        """The part of the range below ``version``."""
        return self & Versions(0, version - 1)

    def split(self, layout: Callable[[int], object]) -> list[Versions]:
        """Cut the range into the longest pieces over which ``layout`` is the same; highest piece first."""
        pieces: list[Versions] = []
        for version in range(self.high, self.low - 1, -1):
            if pieces and layout(version) == layout(pieces[-1].low):
                pieces[-1] = Versions(version, pieces[-1].high)
            else:
                pieces.append(Versions(version, version))
        return pieces

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.high == HIGHEST:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


NONE = Versions(0, -1)
