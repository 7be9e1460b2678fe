"""Who may commit and fetch offsets of a streams group, by member epoch (KIP-1071).

the member's epoch       yes
a later one              STALE_MEMBER_EPOCH
an earlier one           a commit, of the input of active tasks that the member had at that epoch already; a fetch, never
-1, nobody in the group  yes: an administrator
"""

from __future__ import annotations

from collections.abc import Iterable

from pykbroker.coordination.groups.streams.group import StreamsGroup
from pykbroker.coordination.groups.streams.member import StreamsMember
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.offset_commit import OffsetCommitRequest
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup
from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

_EPOCHS_SINCE = 9  # OffsetCommit: earlier versions have no member epoch


def check_commit(group: StreamsGroup, request: OffsetCommitRequest, version: int) -> None:
    """Raises KafkaError UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION or STALE_MEMBER_EPOCH unless this commit is allowed."""
    epoch = request.generation_id_or_member_epoch
    if epoch < 0 and group.is_empty:
        return
    member = group.member(request.member_id)
    if version < _EPOCHS_SINCE:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the streams group protocol",
        )
    partitions = ((topic.name, each.partition_index) for topic in request.topics for each in topic.partitions)
    _check_epoch(group, member, epoch, partitions)


def check_commit_in_transaction(group: StreamsGroup, request: TxnOffsetCommitRequest) -> None:
    """The same for a commit in a transaction."""
    epoch = request.generation_id_or_member_epoch
    if epoch < 0 and group.is_empty:
        return
    if epoch == -1 and request.member_id == "" and request.group_instance_id is None:
        return
    partitions = ((topic.name, each.partition_index) for topic in request.topics for each in topic.partitions)
    _check_epoch(group, group.member(request.member_id), epoch, partitions)


def check_fetch(group: StreamsGroup, request: OffsetFetchRequestGroup) -> None:
    """Raises KafkaError UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH unless this fetch is allowed, as one without a member is."""
    if request.member_id is None and request.member_epoch < 0:
        return
    member = group.member(request.member_id or "")
    if request.member_epoch != member.epoch:
        raise _stale(
            f"The received member epoch {request.member_epoch} does not match the expected member epoch {member.epoch}."
        )


def _check_epoch(group: StreamsGroup, member: StreamsMember, epoch: int, partitions: Iterable[tuple[str, int]]) -> None:
    if epoch == member.epoch:
        return
    if epoch > member.epoch:
        raise _stale(f"Received member epoch {epoch} is newer than current member epoch {member.epoch}.")
    if group.topology is None:
        raise _stale("Topology is not available for offset commit validation.")
    for name, partition in partitions:
        subtopology = group.topology.reader_of(name)
        if subtopology is None:
            raise _stale(f"Topic {name} is not in the topology.")
        task = (subtopology, partition)
        since = member.assigned.active.get(task, member.revoking.active.get(task))
        if since is None:
            raise _stale(f"Task {subtopology}-{partition} is not assigned or pending revocation for member.")
        if epoch < since:
            raise _stale(
                f"Received member epoch {epoch} is older than assignment epoch {since} for task "
                f"{subtopology}-{partition}."
            )


def _stale(message: str) -> KafkaError:
    return KafkaError(ErrorCode.STALE_MEMBER_EPOCH, message)
