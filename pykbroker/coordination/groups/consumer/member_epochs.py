"""Who may commit and fetch offsets of a consumer group, by member epoch (KIP-848, KIP-1251).

    the member's epoch       yes
    a later one              STALE_MEMBER_EPOCH
    an earlier one           a commit, of partitions that the member had at that epoch already; a fetch, never
    -1, nobody in the group  yes: an administrator, or a consumer that assigns its partitions itself

Classic members are answered ILLEGAL_GENERATION instead of STALE_MEMBER_EPOCH.
"""

from __future__ import annotations

from collections.abc import Iterable

from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import ConsumerMember
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.offset_commit import OffsetCommitRequest
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup
from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

_EPOCHS_SINCE = 9  # OffsetCommit: earlier versions have no member epoch


def check_commit(group: ConsumerGroup, request: OffsetCommitRequest, version: int) -> None:
    """Raises KafkaError UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION, STALE_MEMBER_EPOCH, or for classic members
    ILLEGAL_GENERATION, unless this commit is allowed.
    """
    epoch = request.generation_id_or_member_epoch
    if epoch < 0 and group.is_empty:
        return
    member = group.member(request.member_id)
    if member.classic is None and version < _EPOCHS_SINCE:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group protocol",
        )
    if epoch != member.epoch:
        partitions = [
            (topic.name, topic.topic_id, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        ]
        _check_epoch(member, epoch, partitions)


def check_commit_in_transaction(group: ConsumerGroup, request: TxnOffsetCommitRequest) -> None:
    """The same for a commit in a transaction."""
    epoch = request.generation_id_or_member_epoch
    if epoch < 0 and group.is_empty:
        return
    if epoch == -1 and request.member_id == "" and request.group_instance_id is None:
        return
    partitions = [
        (topic.name, topic_id, partition.partition_index)
        for topic in request.topics
        if (topic_id := group.around.topic_id(topic.name)) is not None
        for partition in topic.partitions
    ]
    _check_epoch(group.member(request.member_id), epoch, partitions)


def check_fetch(group: ConsumerGroup, request: OffsetFetchRequestGroup) -> None:
    """Raises KafkaError UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION unless this fetch is allowed, as one
    without a member is.
    """
    if request.member_id is None and request.member_epoch < 0:
        return
    member = group.member(request.member_id or "")
    if request.member_epoch != member.epoch:
        raise _stale(member, f"The received {_kind(member)} {request.member_epoch} does not match {member.epoch}.")


def _check_epoch(member: ConsumerMember, epoch: int, partitions: Iterable[tuple[str, bytes, int]]) -> None:
    if epoch == member.epoch:
        return
    if epoch > member.epoch:
        raise _stale(member, f"Received {_kind(member)} {epoch} is newer than current member epoch {member.epoch}.")
    for name, topic_id, partition in partitions:
        since = _assigned_at(member, topic_id, partition)
        if since is None:
            raise _stale(member, f"Partition {name}-{partition} is not assigned or pending revocation for member.")
        if epoch < since:
            raise _stale(
                member,
                f"Received {_kind(member)} {epoch} is older than assignment epoch {since} for partition "
                f"{name}-{partition}.",
            )


def _assigned_at(member: ConsumerMember, topic_id: bytes, partition: int) -> int | None:
    """The epoch at which the member got a partition that it may still use."""
    since = member.assigned.get(topic_id, {}).get(partition)
    return member.revoking.get(topic_id, {}).get(partition) if since is None else since


def _kind(member: ConsumerMember) -> str:
    return "member epoch" if member.classic is None else "generation id"


def _stale(member: ConsumerMember, message: str) -> KafkaError:
    code = ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
    return KafkaError(code, message)
