"""Groups of the consumer protocol: the ``Kind`` that the shard asks. Their classic members are in ``classic_members``."""

from __future__ import annotations

from pykbroker.coordination.groups.consumer.classic_members import heartbeat, join, leave, sync
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.leaving import tick
from pykbroker.coordination.groups.consumer.member_epochs import check_commit, check_commit_in_transaction, check_fetch
from pykbroker.coordination.groups.consumer.records import group_tombstones
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome

__all__ = [
    "begin",
    "check_commit",
    "check_commit_in_transaction",
    "check_fetch",
    "end",
    "heartbeat",
    "join",
    "leave",
    "sync",
    "tick",
    "topics_changed",
]


def begin(group: ConsumerGroup) -> Outcome:
    """See ``Kind``."""
    return group.loaded()


def topics_changed(group: ConsumerGroup, names: frozenset[str]) -> None:
    """The next heartbeat looks at the metadata again."""
    if group.subscribes_to_any(names):
        group.metadata_is_stale = True


def end(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """See ``Kind``."""
    return list(group_tombstones(group))
