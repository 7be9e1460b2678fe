"""Share groups: what the coordinator asks of them (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pykbroker.coordination.groups.assigning import Assigning, TargetComputing
from pykbroker.coordination.groups.kind import GroupKind
from pykbroker.coordination.groups.share import heartbeats, replaying
from pykbroker.coordination.groups.share.group import ShareGroup
from pykbroker.coordination.groups.share.initializing import Initialization, Initializing
from pykbroker.coordination.groups.share.records import group_tombstones
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome

if TYPE_CHECKING:
    from pykbroker.coordination.groups.group import Find
    from pykbroker.coordination.groups.replayed import ReplayedGroups


class ShareKind(GroupKind[ShareGroup]):
    """See ``GroupKind``. It has no committed offsets: where it begins is kept by the share coordinator."""

    group_class = ShareGroup
    record_keys = replaying.KEYS
    effects: ClassVar = {Initialization: Initializing, Assigning: TargetComputing}

    def replay(self, groups: ReplayedGroups, key: Any, value: Any, /) -> None:
        """A record of a group, or the end of one."""
        group = groups.of_record(key, value, ShareGroup, ends=replaying.ends_group(key, value))
        if group is not None:
            replaying.replay(group, key, value)

    def tick(self, group: ShareGroup, find: Find, /) -> Outcome:
        """Do what is due."""
        return heartbeats.tick(group)

    def topics_changed(self, group: ShareGroup, names: frozenset[str], /) -> None:
        """The next heartbeat compares the metadata hash; deleted topics are taken out of the state."""
        if group.subscribes_to_any(names):
            group.metadata_is_stale = True
        if group.has_deleted_topics():
            group.notice_deleted_topics()

    def end(self, group: ShareGroup, /) -> list[CoordinatorRecord]:
        """All tombstones."""
        return list(group_tombstones(group))
