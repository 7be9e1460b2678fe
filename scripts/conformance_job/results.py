"""The result of a suite against one broker, and its form on disk."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """``failed`` are names of cases, ``skipped`` pairs of a name and a reason. ``commit`` is that of the sources."""

    passed: int
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    commit: str = ""

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Return the reasons of skips with their counts, the most frequent first."""
        return Counter(reason for _, reason in self.skipped).most_common()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, read: dict[str, Any]) -> Result:
        """Return the result. Raises KeyError or TypeError for anything else."""
        return cls(**{**read, "skipped": [(name, reason) for name, reason in read["skipped"]]})
