"""The fault rules of a cluster, with counts that decide when each acts; owned by the loop."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pykbroker.faults.fault import Fault


class UnknownRule(KeyError):
    """There is no rule with this number."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(slots=True, eq=False)
class Rule:
    """A fault that was added: its number, how many requests it matched, and at how many it acted."""

    number: int
    fault: Fault
    matched: int = 0
    fired: int = 0
    removed: bool = False
    #: State from the time of its addition: the metadata for stale answers.
    kept: Any = None
    _chance: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        if self.fault.seed is not None:
            self._chance = random.Random(self.fault.seed)

    @property
    def over(self) -> bool:
        """Whether it has acted the maximum number of times."""
        return self.removed or (self.fault.times is not None and self.fired >= self.fault.times)

    def acts(self) -> bool:
        """Count a request that matches, and say whether the rule acts on it."""
        if self.over:
            return False
        self.matched += 1
        if self.fault.nth is not None and self.matched < self.fault.nth:
            return False
        if self.fault.probability is not None and self._chance.random() >= self.fault.probability:
            return False
        self.fired += 1
        return True

    def as_json(self) -> dict[str, Any]:
        """The rule and its counts, for commands and the HTTP interface."""
        return {"number": self.number, "fault": self.fault.as_json(), "matched": self.matched, "fired": self.fired}


class FaultBook:
    """All rules in the order of addition; of several that match, the first one that acts is applied."""

    def __init__(self) -> None:
        self.rules: dict[int, Rule] = {}
        self._numbers = 0
        self._followers: dict[Callable[[Rule], None], None] = {}

    def follow(self, changed: Callable[[Rule], None]) -> None:
        """Call ``changed`` after each change of a rule, and each time one acts or is removed; once, however often it is given."""
        self._followers[changed] = None

    def add(self, fault: Fault) -> Rule:
        self._numbers += 1
        rule = self.rules[self._numbers] = Rule(self._numbers, fault)
        return rule

    def remove(self, number: int) -> Rule:
        """Raises UnknownRule."""
        rule = self.rules.pop(number, None)
        if rule is None:
            there = ", ".join(map(str, self.rules)) or "none"
            raise UnknownRule(f"there is no rule {number}; these are: {there}")
        rule.removed = True
        self.changed(rule)
        return rule

    def clear(self) -> list[Rule]:
        """Remove all, and return them."""
        return [self.remove(number) for number in list(self.rules)]

    def changed(self, rule: Rule) -> None:
        for follower in list(self._followers):
            follower(rule)
