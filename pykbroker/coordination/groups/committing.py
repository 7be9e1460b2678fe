"""OffsetCommit, OffsetFetch and OffsetDelete of one group, and the expiry of its offsets.

The group's kind decides who may (``kinds.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.groups.offsets import CommittedInTopic, CommittedOffset, TopicOffsets
from pykbroker.coordination.groups.records import offset_record, offset_tombstone
from pykbroker.coordination.groups.settings import GroupSettings
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.internal.offset_commit import OffsetCommitValue
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from pykbroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from pykbroker.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from pykbroker.wire.primitives import ZERO_UUID

_LATEST_MS = 2**63 - 1


def commit(
    request: OffsetCommitRequest, settings: GroupSettings
) -> tuple[list[CommittedInTopic], OffsetCommitResponse]:
    """What an allowed commit commits, and its answer."""
    committed: list[CommittedInTopic] = []
    response = OffsetCommitResponse()
    for topic in request.topics:
        answers: list[OffsetCommitResponsePartition] = []
        offsets: list[tuple[int, int, int, str]] = []
        for partition in topic.partitions:
            code, index = ErrorCode.NONE, partition.partition_index
            metadata = partition.committed_metadata or ""
            if _is_too_large(metadata, settings):
                code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                offsets.append((index, partition.committed_offset, partition.committed_leader_epoch, metadata))
            answers.append(OffsetCommitResponsePartition(index, code))
        response.topics.append(OffsetCommitResponseTopic(topic.name, topic.topic_id, answers))
        if offsets:
            committed.append((topic.name, topic.topic_id, offsets))
    return committed, response


def expiry(request: OffsetCommitRequest, now_ms: int) -> int:
    """When what is committed expires by the request's own time, which versions 2 to 4 have; -1 for the broker's."""
    return -1 if request.retention_time_ms == -1 else min(now_ms + request.retention_time_ms, _LATEST_MS)


def commit_in_transaction(
    request: TxnOffsetCommitRequest, settings: GroupSettings, now_ms: int
) -> tuple[list[CoordinatorRecord], TxnOffsetCommitResponse]:
    """The records of an allowed commit in a transaction, and its answer."""
    records: list[CoordinatorRecord] = []
    response = TxnOffsetCommitResponse()
    for topic in request.topics:
        answers: list[TxnOffsetCommitResponsePartition] = []
        for partition in topic.partitions:
            code = ErrorCode.NONE
            metadata = partition.committed_metadata or ""
            if _is_too_large(metadata, settings):
                code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                value = OffsetCommitValue(
                    partition.committed_offset, partition.committed_leader_epoch, metadata, now_ms, -1, topic.topic_id
                )
                records.append(offset_record(request.group_id, topic.name, partition.partition_index, value))
            answers.append(TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code))
        response.topics.append(
            TxnOffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=answers)
        )
    return records, response


def _is_too_large(metadata: str, settings: GroupSettings) -> bool:
    """Whether an offset's metadata is too large. Its size is counted in UTF-16 units, as in Kafka: a character has one or two."""
    most = settings.offset_metadata_max_bytes
    return 2 * len(metadata) > most and len(metadata.encode("utf-16-le")) > 2 * most


def fetch(
    request: OffsetFetchRequestGroup, offsets: TopicOffsets, unstable: AbstractSet[tuple[str, int]] = frozenset()
) -> OffsetFetchResponseGroup:
    """The requested offsets, or all if no topics are named; -1 and no error where nothing is committed.

    Topics and partitions that are ``unstable`` are answered UNSTABLE_OFFSET_COMMIT.
    """
    response = OffsetFetchResponseGroup(group_id=request.group_id)
    if request.topics is None:
        for topic, partitions in offsets.items():
            found = [
                _fetched(index, committed, unstable=(topic, index) in unstable)
                for index, committed in partitions.items()
            ]
            response.topics.append(OffsetFetchResponseTopics(name=topic, partitions=found))
        return response
    for requested in request.topics:
        partitions = offsets.get(requested.name, {})
        found = []
        topic_id = requested.topic_id
        for index in requested.partition_indexes:
            committed = partitions.get(index)
            if committed is not None and topic_id != ZERO_UUID and not committed.is_for(topic_id):
                committed = None
            found.append(_fetched(index, committed, unstable=bool(unstable) and (requested.name, index) in unstable))
        response.topics.append(OffsetFetchResponseTopics(requested.name, topic_id, found))
    return response


def _fetched(index: int, committed: CommittedOffset | None, *, unstable: bool) -> OffsetFetchResponsePartitions:
    if unstable:
        return OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=-1, metadata="", error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT
        )
    if committed is None:
        return OffsetFetchResponsePartitions(partition_index=index, committed_offset=-1, metadata="")
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def delete(
    group: Group, request: OffsetDeleteRequest, offsets: TopicOffsets, pending: AbstractSet[tuple[str, int]]
) -> tuple[list[CoordinatorRecord], OffsetDeleteResponse]:
    """The records and the answer of an OffsetDelete. ``offsets`` are the group's committed ones; those that open transactions
    have, ``pending``, go with them.
    """
    records: list[CoordinatorRecord] = []
    response = OffsetDeleteResponse()
    for topic in request.topics:
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if group.subscribes(topic.name) else ErrorCode.NONE
        committed = offsets.get(topic.name, {})
        answers = []
        for partition in topic.partitions:
            index = partition.partition_index
            answers.append(OffsetDeleteResponsePartition(partition_index=index, error_code=code))
            if code is ErrorCode.NONE and (index in committed or (topic.name, index) in pending):
                records.append(offset_tombstone(request.group_id, topic.name, index))
        response.topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=answers))
    return records, response


def expire(
    group: Group,
    offsets: Iterable[tuple[str, int, CommittedOffset]],
    pending: AbstractSet[tuple[str, int]],
    retention_ms: int,
    now_ms: int,
) -> list[CoordinatorRecord]:
    """Tombstones for a group's expired offsets (topic, partition, offset) (KIP-211).

    An offset of a classic group ages from the time at which the group became empty; in a stable group of consumers, a group
    that never had members, and a group of the consumer protocol, from its commit. Offsets of subscribed topics and of open
    transactions do not expire.
    """
    if not group.offsets_age:
        return []
    empty_since_ms = group.empty_since_ms
    wanted: dict[str, bool] = {}
    records: list[CoordinatorRecord] = []
    for topic, index, committed in offsets:
        if topic not in wanted:
            wanted[topic] = group.subscribes(topic)
        since_ms = committed.commit_timestamp_ms if empty_since_ms is None else empty_since_ms
        if not wanted[topic] and (topic, index) not in pending and committed.expired(now_ms, since_ms, retention_ms):
            records.append(offset_tombstone(group.group_id, topic, index))
    return records
