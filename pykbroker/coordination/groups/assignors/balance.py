"""Balances the load of one topic's subscribers: which member gives a partition, and which takes it.

Members are sorted by load. Takers are a run that grows from the left, givers a run that grows from the right; within a run
all have the same load:

        load ^                  [   ]#    # has nothing of this topic to give
             |              #   [###]#
             | [  ->  ]   ###   [###]#
             | [######]######   [###]#
             +------------------------> members

Each member of a run takes (or gives) one partition before any does so again; then the run's level changes by one, and
members that stand at the new level join it. The subscribers are even when the two levels are within one of each other.
"""

from __future__ import annotations


class Balance:
    """The state of the two runs. The caller owns ``loads`` and updates it with what is returned here."""

    def __init__(self, members: list[int], loads: list[int]) -> None:
        self._loads = loads
        self._sorted = sorted(members, key=lambda member: (loads[member], member))
        self._taker = 0
        self._takers_end = 0
        self._takers_level = loads[self._sorted[0]] - 1
        self._givers_start = self._givers_end = len(members)
        self._giver = len(members) - 1
        self._givers_level = loads[self._sorted[-1]] + 1

    def is_even(self) -> bool:
        """Whether nothing needs to move, before the first move."""
        return self._loads[self._sorted[-1]] - self._loads[self._sorted[0]] <= 1

    def is_level(self) -> bool:
        """Whether the levels of the two runs are within one of each other."""
        return self._givers_level - self._takers_level <= 1

    def next_taker(self) -> int:
        """The member that gets the next partition."""
        members, loads = self._sorted, self._loads
        if self._taker >= self._takers_end:
            self._takers_level += 1
            while self._takers_end < len(members) and loads[members[self._takers_end]] == self._takers_level:
                self._takers_end += 1
            self._taker = 0
        self._taker += 1
        return members[self._taker - 1]

    def next_giver(self, to_give: dict[int, list[int]]) -> int | None:
        """The member that gives the next partition; None if no member with a higher load has one."""
        while (place := self._next_giving_place()) >= 0:
            member = self._sorted[place]
            if to_give.get(member):
                return member
            # It leaves the run: swapped with the last member, and the run becomes shorter.
            self._givers_end -= 1
            self._sorted[place] = self._sorted[self._givers_end]
            self._sorted[self._givers_end] = member
        return None

    def _next_giving_place(self) -> int:
        members, loads = self._sorted, self._loads
        if self._giver < self._givers_start:
            if self._givers_end <= self._givers_start and self._givers_start > 0:
                self._givers_level = loads[members[self._givers_start - 1]]  # all have left the run: a new one begins
            else:
                self._givers_level -= 1
            while self._givers_start > 0 and loads[members[self._givers_start - 1]] == self._givers_level:
                self._givers_start -= 1
            self._giver = self._givers_end - 1
        place = self._giver
        self._giver -= place >= 0
        return place
