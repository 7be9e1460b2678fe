"""Streams groups: what the coordinator asks of them (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pykbroker.coordination.groups.assigning import Assigning, TargetComputing
from pykbroker.coordination.groups.kind import GroupKind
from pykbroker.coordination.groups.streams import leaving, member_epochs, replaying
from pykbroker.coordination.groups.streams.group import StreamsGroup
from pykbroker.coordination.groups.streams.records import group_tombstones
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome

if TYPE_CHECKING:
    from pykbroker.coordination.groups.group import Find
    from pykbroker.coordination.groups.replayed import ReplayedGroups
    from pykbroker.wire.messages.offset_commit import OffsetCommitRequest
    from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup
    from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest


class StreamsKind(GroupKind[StreamsGroup]):
    """See ``GroupKind``."""

    group_class = StreamsGroup
    record_keys = replaying.KEYS
    effects: ClassVar = {Assigning: TargetComputing}

    def replay(self, groups: ReplayedGroups, key: Any, value: Any, /) -> None:
        """A record of a group, which takes the place of a classic group that only holds offsets, or the end of one."""
        group = groups.of_record(key, value, StreamsGroup, ends=replaying.ends_group(key, value))
        if group is not None:
            replaying.replay(group, key, value)

    def tick(self, group: StreamsGroup, find: Find, /) -> Outcome:
        """Do what is due."""
        return leaving.tick(group)

    def topics_changed(self, group: StreamsGroup, names: frozenset[str], /) -> None:
        """The next heartbeat compares the metadata hash."""
        if group.topology is not None and not group.topology.required.isdisjoint(names):
            group.metadata_is_stale = True

    def end(self, group: StreamsGroup, /) -> list[CoordinatorRecord]:
        """All tombstones."""
        return list(group_tombstones(group))

    def gives_way(self, group: StreamsGroup, /) -> bool:
        """Yes, if it has no members."""
        return group.is_empty

    def check_commit(self, group: StreamsGroup, request: OffsetCommitRequest, version: int, /) -> None:
        """Raises what ``member_epochs.check_commit`` raises."""
        member_epochs.check_commit(group, request, version)

    def check_commit_in_transaction(self, group: StreamsGroup, request: TxnOffsetCommitRequest, /) -> None:
        """Raises what ``member_epochs.check_commit_in_transaction`` raises."""
        member_epochs.check_commit_in_transaction(group, request)

    def check_fetch(self, group: StreamsGroup, request: OffsetFetchRequestGroup, /) -> None:
        """Raises what ``member_epochs.check_fetch`` raises."""
        member_epochs.check_fetch(group, request)

    def check_delete_offsets(self, group: StreamsGroup, /) -> None:
        """Nothing to check: the topics that the application reads are known."""
