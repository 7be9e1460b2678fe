"""Which topics a member is subscribed to, by name and by pattern, as far as they exist."""

from __future__ import annotations

from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import ConsumerMember


class Subscriptions:
    """Of a group's members, as its patterns are resolved now. Members with the same subscription share one set."""

    __slots__ = ("_group", "_known")

    def __init__(self, group: ConsumerGroup) -> None:
        self._group = group
        self._known: dict[tuple[frozenset[str], str | None], frozenset[bytes]] = {}

    def of(self, member: ConsumerMember) -> frozenset[bytes]:
        """Ids of the topics; a pattern that is not resolved yet stands for none."""
        key = (member.subscribed_names, member.subscribed_regex)
        known = self._known.get(key)
        if known is None:
            names = member.subscribed_names
            regex = self._group.regexes.get(member.subscribed_regex) if member.subscribed_regex else None
            if regex is not None:
                names |= regex.topics
            ids = (self._group.around.topic_id(name) for name in names)
            known = self._known[key] = frozenset(topic_id for topic_id in ids if topic_id is not None)
        return known
