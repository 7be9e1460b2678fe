"""Matches the patterns of groups with topics, in a thread unless there are few: the effect of a heartbeat that brings a new pattern."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pykbroker.coordination.groups.consumer.regexes import resolve
from pykbroker.runtime.waits import gather

if TYPE_CHECKING:
    from pykbroker.coordination.groups.consumer.regexes import Resolution
    from pykbroker.coordination.groups.kind import EffectContext
    from pykbroker.coordination.groups.matching import TopicPatterns
    from pykbroker.coordination.shards import Loaded

log = logging.getLogger(__name__)

#: Patterns of a group that the loop may match itself.
_FEW = 4


class RegexResolving:
    """See the module; of one coordinator."""

    def __init__(self, coordinator: EffectContext) -> None:
        self._coordinator = coordinator
        self._patterns: TopicPatterns | None = None
        #: Groups whose patterns are matched at present.
        self._resolving: set[str] = set()

    def __call__(self, loaded: Loaded[Any], requested: Resolution) -> None:
        """Match the patterns of a group; the group goes on with the topics when they are known."""
        if requested.group_id in self._resolving:
            return
        from pykbroker.coordination.groups.matching import TopicPatterns

        coordinator = self._coordinator
        image = coordinator.host.metadata.image
        known = self._patterns = self._patterns or TopicPatterns(coordinator.host.runtime)
        names, version, patterns = frozenset(image.topics), image.offset, sorted(requested.patterns)
        self._resolving.add(requested.group_id)

        def resolved(found_by: list[frozenset[str]]) -> None:
            found = dict(zip(patterns, found_by, strict=True))
            coordinator.go_on(
                loaded, requested.group_id, lambda group: resolve(group, found, requested.requester, version)
            )

        at_once = len(patterns) <= _FEW
        topics = [known.topics_like(pattern, names, at_once=at_once).recover(ValueError, _none) for pattern in patterns]
        matched = gather(topics)
        matched.settled().map(lambda _: self._resolving.discard(requested.group_id)).or_log(
            "ending a match of patterns"
        )
        matched.map(resolved).or_log("resolving patterns of group %s", requested.group_id)


def _none(error: ValueError) -> frozenset[str]:
    """No topic matches a pattern that does not compile, which an older log may hold."""
    log.warning("A subscribed topic regex is ignored: %s", error)
    return frozenset()
