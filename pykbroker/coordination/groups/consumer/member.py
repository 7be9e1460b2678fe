"""One member of a consumer group (KIP-848), as its records describe it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.wire.internal.consumer_group_member_metadata import ClassicMemberMetadata

#: Topic id to partition to the member epoch at which the partition was assigned.
Owned = dict[bytes, dict[int, int]]

#: Topic id to partitions: the target assignment of a member.
Target = dict[bytes, frozenset[int]]


class MemberState(Enum):
    """The state of a member's reconciliation. Values are those of the records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


def state_of(value: int) -> MemberState:
    """The state in a record; UNKNOWN for one of a later release."""
    return MemberState(value) if value in (0, 1, 2) else MemberState.UNKNOWN


@dataclass(slots=True)
class ConsumerMember:
    """Replaced when it changes, never altered."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    #: With a slash before the address, as in Kafka.
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    subscribed_names: frozenset[str] = frozenset()
    #: Empty or None if it has none.
    subscribed_regex: str | None = ""
    assignor: str | None = None
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Owned = field(default_factory=dict)
    #: Partitions that it was told to revoke and may still use.
    revoking: Owned = field(default_factory=dict)
    #: Session timeout and protocols of a member that uses the classic protocol.
    classic: ClassicMemberMetadata | None = None

    def is_reconciled_to(self, epoch: int) -> bool:
        """Whether it has exactly the target assignment of this epoch."""
        return self.state is MemberState.STABLE and self.epoch == epoch


def partitions_of(owned: Owned) -> dict[bytes, list[int]]:
    """Topic id to partitions, in order."""
    return {topic_id: sorted(owned[topic_id]) for topic_id in sorted(owned)}
