"""Every place where pykbroker's answers differ from Apache Kafka 4.3.1's, and why. Nothing else may differ.

A difference names the cases and the path inside their answers, with shell patterns (``[`` and ``]`` stand for themselves), and where it
helps what each side says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from compat_tests.oracle.compare import Divergence

_ANY: Any = object()


@dataclass(frozen=True)
class Difference:
    """``cases`` is ``Api/case`` and ``path`` a path in its answers, both with ``*`` for anything."""

    cases: str
    path: str
    why: str
    kafka: Any = field(default=_ANY)
    ours: Any = field(default=_ANY)

    def explains(self, case: str, found: Divergence) -> bool:
        return (
            _matches(self.cases, case)
            and _matches(self.path, found.path)
            and self.kafka in (_ANY, found.kafka)
            and self.ours in (_ANY, found.ours)
        )


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "DescribeQuorum/the_quorum",
        "*.nodes.[1].listeners.[CONTROLLER]",
        "The controller inside pykbroker has no listener of its own: nobody can reach it but through the broker.",
    ),
)
