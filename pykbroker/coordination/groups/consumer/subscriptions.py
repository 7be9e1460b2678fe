"""The existing topics to which a member is subscribed, by name and by pattern."""

from __future__ import annotations

from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import ConsumerMember


class Subscriptions:
    """The subscriptions of a group's members, with its patterns as resolved now. Members with equal ones share one set."""

    __slots__ = ("_group", "_known")

    def __init__(self, group: ConsumerGroup) -> None:
        self._group = group
        self._known: dict[tuple[frozenset[str], str | None], frozenset[bytes]] = {}

    def of(self, member: ConsumerMember) -> frozenset[bytes]:
        """Ids of a member's topics; a pattern that is not resolved yet matches none."""
        key = (member.subscribed_names, member.subscribed_regex)
        known = self._known.get(key)
        if known is None:
            names = member.subscribed_names
            regex = self._group.regexes.get(member.subscribed_regex) if member.subscribed_regex else None
            if regex is not None:
                names |= regex.topics
            known = self._known[key] = self._group.around.topic_ids(names)
        return known
