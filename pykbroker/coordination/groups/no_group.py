"""The ``GroupKind`` of a group that does not exist: nobody is a member of it, and it has no offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.group import group_not_found
from pykbroker.coordination.groups.kind import GroupKind
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.groups.classic.joining import Joining
    from pykbroker.coordination.groups.group import Find
    from pykbroker.wire.messages.describe_groups import DescribedGroup
    from pykbroker.wire.messages.offset_commit import OffsetCommitRequest
    from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup
    from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

_GROUP_NOT_FOUND_SINCE = 9  # OffsetCommit: earlier versions are answered ILLEGAL_GENERATION


class NoGroup(GroupKind[None]):  # type: ignore[type-var]  # None stands for the group that does not exist
    """See the module."""

    def begin(self, group: None, /) -> Outcome:
        """The group ended before its slice came."""
        return Outcome()

    def end(self, group: None, /) -> list[CoordinatorRecord]:
        """There is nothing to end."""
        return []

    def describe(self, group: None, group_id: str, /) -> DescribedGroup:
        """Raises KafkaError with GROUP_ID_NOT_FOUND."""
        raise group_not_found(group_id)

    def gives_way(self, group: None, /) -> bool:
        """Nothing prevents a new group."""
        return True

    def join(self, group: None, joining: Joining, find: Find, /) -> Outcome:
        """A member with an id belonged to an earlier group; a new one creates a group (``classic/requests.py``)."""
        return joining.refused(ErrorCode.UNKNOWN_MEMBER_ID, Outcome())

    def check_commit(self, group: None, request: OffsetCommitRequest, version: int, /) -> None:
        """Anyone may who names no generation."""
        if request.generation_id_or_member_epoch >= 0:
            found = version >= _GROUP_NOT_FOUND_SINCE
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND if found else ErrorCode.ILLEGAL_GENERATION)

    def check_commit_in_transaction(self, group: None, request: TxnOffsetCommitRequest, /) -> None:
        """Anyone may who names no generation."""
        if request.generation_id_or_member_epoch >= 0:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)

    def check_fetch(self, group: None, request: OffsetFetchRequestGroup, /) -> None:
        """It has no offsets, which is no error."""
