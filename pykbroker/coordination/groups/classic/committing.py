"""Who may commit offsets of a classic group, by generation and member id as the request states them.

generation -1, group empty         anyone: an administrator, or a consumer that assigns its partitions itself
a member of this generation        yes, unless its assignment is still being computed: REBALANCE_IN_PROGRESS
no member id, group not empty      UNKNOWN_MEMBER_ID
"""

from __future__ import annotations

from pykbroker.coordination.groups.classic.group import ClassicGroup, ClassicGroupState
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.offset_commit import OffsetCommitRequest
from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest


def check_commit(group: ClassicGroup, request: OffsetCommitRequest, version: int) -> None:
    """Raises KafkaError UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION or REBALANCE_IN_PROGRESS unless this commit
    is allowed; a member's commit also counts as a heartbeat.
    """
    generation = request.generation_id_or_member_epoch
    if generation < 0 and group.is_empty:
        return
    if generation < 0 and request.member_id == "" and request.group_instance_id is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    member = group.members.validate(request.member_id, request.group_instance_id)
    if generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if group.state is ClassicGroupState.COMPLETING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    group.deadlines.touch(member)


def check_commit_in_transaction(group: ClassicGroup, request: TxnOffsetCommitRequest) -> None:
    """Raises KafkaError UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or ILLEGAL_GENERATION unless this commit in a transaction is
    allowed.

    Versions before 3 carry no member and generation and are not checked.
    """
    generation = request.generation_id_or_member_epoch
    if generation < 0 and (group.is_empty or (request.member_id == "" and request.group_instance_id is None)):
        return
    group.members.validate(request.member_id, request.group_instance_id)
    if generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
