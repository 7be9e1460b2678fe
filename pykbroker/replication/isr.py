"""The in-sync replicas of a partition as its leader knows them: what the controller has committed, and the change that is proposed to it.

A change is proposed for one partition epoch, and the controller accepts it only in that epoch (KIP-497). Until the answer is known, the
controller may have either, so the leader counts on the union of both (``maximal``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pykbroker.wire.errors import ErrorCode

#: The controller says that nothing was applied, and that the partition epoch is right: what is committed is known again.
_NOT_APPLIED = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
#: The leader knows too little: it waits for the metadata, which say what is committed.
_WAITS_FOR_METADATA = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)


class IsrMember(NamedTuple):
    """A broker of a proposed ISR, with the epoch that it fetched with; -1 where that is unknown (KIP-903)."""

    broker_id: int
    broker_epoch: int


class ProposedIsr(NamedTuple):
    """A change of the ISR, for AlterPartition."""

    leader_epoch: int
    partition_epoch: int
    members: tuple[IsrMember, ...]


class CommittedIsr(NamedTuple):
    """What the controller answered, or published."""

    leader_epoch: int
    partition_epoch: int
    members: tuple[int, ...]


class Isr:
    """See the module."""

    __slots__ = ("committed", "leader_epoch", "maximal", "partition_epoch", "proposed")

    def __init__(self, leader_epoch: int, partition_epoch: int, members: Iterable[int]) -> None:
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.committed = frozenset(members)
        #: Each that is in sync by the last committed state, or may be by the change that is proposed.
        self.maximal = self.committed
        self.proposed: ProposedIsr | None = None

    def propose(self, members: Iterable[IsrMember]) -> ProposedIsr:
        """Propose another ISR; nothing may be proposed yet."""
        change = ProposedIsr(self.leader_epoch, self.partition_epoch, tuple(sorted(members)))
        self.proposed = change
        self.maximal = self.committed | {member.broker_id for member in change.members}
        return change

    def granted(self, change: ProposedIsr, answer: CommittedIsr) -> bool:
        """Take the controller's answer to ``change``; whether it was taken.

        An answer to what is no longer proposed is ignored: metadata have overtaken it.
        """
        if change is not self.proposed or answer.leader_epoch != self.leader_epoch:
            return False
        if answer.partition_epoch < self.partition_epoch:
            return False
        self._commit(answer.partition_epoch, answer.members)
        return True

    def refused(self, change: ProposedIsr, code: int) -> bool:
        """The controller refused ``change``; whether it is to be sent again, since it may have been applied or not."""
        if change is not self.proposed or code in _WAITS_FOR_METADATA:
            return False
        if code in _NOT_APPLIED:
            self._commit(self.partition_epoch, self.committed)
            return False
        return True

    def published(self, partition_epoch: int, members: Iterable[int]) -> bool:
        """Take what the metadata say of this leader epoch; whether anything may have changed.

        In the epoch that is known already, a change that is proposed stays so: the controller may be applying it.
        """
        if partition_epoch < self.partition_epoch or (partition_epoch == self.partition_epoch and self.proposed):
            return False
        self._commit(partition_epoch, members)
        return True

    def _commit(self, partition_epoch: int, members: Iterable[int]) -> None:
        self.partition_epoch = partition_epoch
        self.committed = self.maximal = frozenset(members)
        self.proposed = None
