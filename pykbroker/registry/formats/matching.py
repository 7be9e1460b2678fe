"""The largest matching of a bipartite graph: how many alternatives of one schema find one each of another. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def largest_matching(edges: Mapping[int, Sequence[int]]) -> int:
    """The size of the largest matching; ``edges`` are the right ends of each left one."""
    taken: dict[int, int] = {}

    def place(left: int, seen: set[int]) -> bool:
        for right in edges[left]:
            if right not in seen:
                seen.add(right)
                if right not in taken or place(taken[right], seen):
                    taken[right] = left
                    return True
        return False

    return sum(place(left, set()) for left in edges)
