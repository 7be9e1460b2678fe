"""Who gives and who takes when one topic's subscribers are to be loaded alike.

Members stand sorted by load. Those who take are a run that grows from the left, those who give a run that grows from
the right; within a run all stand at one level:

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
    """The state of the two runs. ``loads`` is the caller's, who changes it by what is returned here."""

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
        """Whether nothing needs to move; asked before anything has."""
        return self._loads[self._sorted[-1]] - self._loads[self._sorted[0]] <= 1

    def is_level(self) -> bool:
        """Whether the run that gives has come down to within one of the run that takes."""
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
        """The member that loses the next partition; None when no member that is loaded more has one to give."""
        while (place := self._next_giving_place()) >= 0:
            member = self._sorted[place]
            if to_give.get(member):
                return member
            # It leaves the run: it changes places with the last of the run, which becomes shorter.
            self._givers_end -= 1
            self._sorted[place] = self._sorted[self._givers_end]
            self._sorted[self._givers_end] = member
        return None

    def _next_giving_place(self) -> int:
        members, loads = self._sorted, self._loads
        if self._giver < self._givers_start:
            if self._givers_end <= self._givers_start and self._givers_start > 0:
                self._givers_level = loads[members[self._givers_start - 1]]  # all have left the run: it begins anew
            else:
                self._givers_level -= 1
            while self._givers_start > 0 and loads[members[self._givers_start - 1]] == self._givers_level:
                self._givers_start -= 1
            self._giver = self._givers_end - 1
        place = self._giver
        self._giver -= place >= 0
        return place
