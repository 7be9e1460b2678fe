"""Assignors and patterns that serve until those of the rooms made for them are here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Uuid = bytes


@dataclass(slots=True)
class MemberSpec:
    """One member: the topics that it is subscribed to, and its target assignment so far."""

    subscribed: frozenset[Uuid]
    assigned: dict[Uuid, frozenset[int]]
    instance_id: str | None
    rack: str | None


@dataclass(slots=True)
class GroupSpec:
    """The members by id, and how many partitions each subscribed topic has."""

    members: dict[str, MemberSpec]
    partitions: dict[Uuid, int]


Assignment = dict[str, dict[Uuid, tuple[int, ...]]]


def _in_turn(group: GroupSpec) -> Assignment:
    """Every topic's partitions to its subscribers in turn; whoever has one keeps it while that is even."""
    given: dict[str, dict[Uuid, list[int]]] = {member_id: {} for member_id in group.members}
    for topic_id in sorted(group.partitions):
        takers = sorted(member_id for member_id, member in group.members.items() if topic_id in member.subscribed)
        if not takers:
            continue
        count = group.partitions[topic_id]
        most = -(-count // len(takers))
        rest = set(range(count))
        for member_id in takers:
            kept = sorted(group.members[member_id].assigned.get(topic_id, frozenset()) & rest)[:most]
            rest.difference_update(kept)
            given[member_id][topic_id] = kept
        for partition in sorted(rest):
            least = min(takers, key=lambda member_id: len(given[member_id][topic_id]))
            given[least][topic_id].append(partition)
    return {
        member_id: {topic_id: tuple(partitions) for topic_id, partitions in topics.items()}
        for member_id, topics in given.items()
    }


ASSIGNORS: dict[str, Callable[[GroupSpec], Assignment]] = {"uniform": _in_turn, "range": _in_turn}


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
