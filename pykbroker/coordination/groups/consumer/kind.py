"""Groups of the consumer protocol: the ``Kind`` that the shard asks. Their classic members are in ``classic_members``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.consumer import leaving
from pykbroker.coordination.groups.consumer.classic_members import heartbeat, join, leave, sync
from pykbroker.coordination.groups.consumer.describing import described
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.leaving import tick
from pykbroker.coordination.groups.consumer.member_epochs import check_commit, check_commit_in_transaction, check_fetch
from pykbroker.coordination.groups.consumer.records import group_tombstones
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.groups.consumer.heartbeats import Heartbeat
    from pykbroker.wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
    from pykbroker.wire.messages.describe_groups import DescribedGroup

__all__ = [
    "begin",
    "check_commit",
    "check_commit_in_transaction",
    "check_fetch",
    "consumer_heartbeat",
    "describe",
    "describe_consumer",
    "end",
    "gives_way",
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


def gives_way(group: ConsumerGroup) -> bool:
    """Yes, if it has no members."""
    return group.is_empty


def consumer_heartbeat(group: ConsumerGroup, heartbeat: Heartbeat) -> Outcome:
    """Raises what ``leaving.leave`` and ``Heartbeat.beat`` raise."""
    if heartbeat.leaves:
        return leaving.leave(group, heartbeat.request, heartbeat.reply, heartbeat.find)
    return heartbeat.beat(group, [])


def topics_changed(group: ConsumerGroup, names: frozenset[str]) -> None:
    """The next heartbeat compares the metadata hash."""
    if group.subscribes_to_any(names):
        group.metadata_is_stale = True


def end(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """See ``Kind``."""
    return list(group_tombstones(group))


def describe(group: ConsumerGroup, group_id: str) -> DescribedGroup:
    """Raises KafkaError with GROUP_ID_NOT_FOUND."""
    raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a classic group.")


def describe_consumer(group: ConsumerGroup, group_id: str) -> DescribedConsumerGroup:
    """See ``Kind``."""
    return described(group)
