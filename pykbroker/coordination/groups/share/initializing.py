"""Partitions of subscribed topics get their state at the share coordinator before anybody is assigned them (KIP-932).

Three steps: a heartbeat notes them as being initialized (``begin``), the effect asks the share coordinator, and the answer notes
them as initialized (``done``), after which the group epoch rises with the next heartbeat. What is not answered within
``group.share.initialize.retry.interval.ms`` is asked again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.groups.share.group import ShareGroup, TopicState
from pykbroker.coordination.groups.share.records import state_record
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.coordination.share.each_partition import Answers, ask_each
from pykbroker.coordination.share.state import UNINITIALIZED, SharePartitionKey
from pykbroker.runtime.waits import Deferred, as_wait

if TYPE_CHECKING:
    from pykbroker.coordination.groups.kind import EffectContext
    from pykbroker.coordination.shards import Loaded

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Initialization:
    """Partitions of a group to initialize, by topic id; ``state_epoch`` is the group epoch."""

    group_id: str
    state_epoch: int
    topics: dict[bytes, frozenset[int]]


def begin(
    group: ShareGroup, names: Iterable[str], epoch: int, records: list[CoordinatorRecord]
) -> Initialization | None:
    """Note subscribed partitions without state as being initialized; None if there are none."""
    now_ms = group.around.clock.now_ms()
    new: dict[bytes, TopicState] = {}
    topics = group.around.image.topics
    for name in topics.keys() & names:
        topic = topics[name]
        if topic.id in group.deleting:
            continue
        missing = frozenset(range(len(topic.partitions))) - _begun(group, topic.id, now_ms)
        if missing:
            new[topic.id] = TopicState(name, missing, now_ms)
    if not new:
        return None
    records.append(state_record(group.group_id, together(group.initializing, new), group.initialized, group.deleting))
    return Initialization(group.group_id, epoch, {topic_id: each.partitions for topic_id, each in new.items()})


def done(group: ShareGroup, topics: Mapping[bytes, frozenset[int]], *, initialized: bool) -> list[CoordinatorRecord]:
    """The share coordinator has initialized these, or could not."""
    found = {
        topic_id: TopicState(group.initializing[topic_id].name, some & group.initializing[topic_id].partitions)
        for topic_id, some in topics.items()
        if topic_id in group.initializing and group.around.image.topic_by_id(topic_id) is not None
    }
    if not found:
        return []
    left = {
        topic_id: replace(each, partitions=each.partitions - topics.get(topic_id, frozenset()))
        for topic_id, each in group.initializing.items()
    }
    left = {topic_id: each for topic_id, each in left.items() if each.partitions}
    ready = together(group.initialized, found) if initialized else group.initialized
    return [state_record(group.group_id, left, ready, group.deleting)]


def without_deleted_topics(group: ShareGroup) -> list[CoordinatorRecord]:
    """Deleted topics are taken out; the share coordinator ends their state by itself."""
    image = group.around.image
    gone = [
        each for each in (*group.initializing, *group.initialized, *group.deleting) if image.topic_by_id(each) is None
    ]
    if not gone:
        return []
    initializing = {topic_id: each for topic_id, each in group.initializing.items() if topic_id not in gone}
    initialized = {topic_id: each for topic_id, each in group.initialized.items() if topic_id not in gone}
    deleting = {topic_id: name for topic_id, name in group.deleting.items() if topic_id not in gone}
    return [state_record(group.group_id, initializing, initialized, deleting)]


class Initializing:
    """Carries out Initializations."""

    def __init__(self, coordinator: EffectContext) -> None:
        self._coordinator = coordinator

    def __call__(self, loaded: Loaded[Any], requested: Initialization) -> None:
        """Ask the share coordinator for each partition, then go on with the group."""
        host = self._coordinator.host

        def initialize(key: SharePartitionKey) -> Deferred[None]:
            return host.share_states.initialize(key, requested.state_epoch, UNINITIALIZED)

        def go_on(answers: Answers) -> None:
            ready: dict[bytes, set[int]] = {}
            failed: dict[bytes, set[int]] = {}
            for key, error in answers.items():
                (ready if error is None else failed).setdefault(key.topic_id, set()).add(key.partition)
            for error in [each for each in answers.values() if each is not None][:1]:
                log.warning("Partitions of share group %s cannot be initialized: %s", requested.group_id, error)

            def step(group: Group | None, topics: dict[bytes, set[int]], initialized: bool) -> Outcome:
                if not isinstance(group, ShareGroup):
                    return Outcome()
                frozen = {topic_id: frozenset(some) for topic_id, some in topics.items()}
                return Outcome(done(group, frozen, initialized=initialized))

            for topics, initialized_now in ((ready, True), (failed, False)):
                if topics:
                    self._coordinator.go_on(
                        loaded,
                        requested.group_id,
                        lambda group, topics=topics, now=initialized_now: step(group, topics, now),  # type: ignore[misc]
                    )

        found = as_wait(host.runtime.slices.run(ask_each(requested.group_id, requested.topics, initialize)))
        found.map(go_on).or_log("initializing share group %s", requested.group_id)


def _begun(group: ShareGroup, topic_id: bytes, now_ms: int) -> frozenset[int]:
    """The partitions that have state, or are being initialized and not for too long."""
    found: frozenset[int] = frozenset()
    if topic_id in group.initialized:
        found |= group.initialized[topic_id].partitions
    begun = group.initializing.get(topic_id)
    if begun is not None and now_ms - begun.since_ms < group.settings.initialize_retry_ms:
        found |= begun.partitions
    return found


def together(known: Mapping[bytes, TopicState], more: Mapping[bytes, TopicState]) -> dict[bytes, TopicState]:
    """Two maps of topics in one, with the partitions of both."""
    found = dict(known)
    for topic_id, each in more.items():
        had = found.get(topic_id)
        found[topic_id] = each if had is None else replace(each, partitions=had.partitions | each.partitions)
    return found
