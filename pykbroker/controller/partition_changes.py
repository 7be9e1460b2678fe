"""One change of a partition: what is wanted of it becomes a record, with the leader that the rules elect.

A leader comes from the ISR; if that is empty, from the eligible replicas (ELR, KIP-966); if both are, it may be the last known
leader; and any living replica where the election may be unclean. A reassignment ends with the change that brings its last
replica in sync. Every change raises the partition epoch, one that names a leader the leader epoch, too. Rules:
PartitionChangeBuilder of Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from pykbroker.controller.assignments import completed_reassignment
from pykbroker.metadata.ids import MIGRATING
from pykbroker.metadata.image import NO_LEADER, PartitionImage
from pykbroker.metadata.java_maps import in_map_order
from pykbroker.metadata.replay import NO_LEADER_CHANGE
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord

#: ``leader_recovery_state``: after an unclean election a leader recovers first, alone in the ISR (KIP-704).
RECOVERED: Final = 0
RECOVERING: Final = 1

_FEWEST_BUCKETS: Final = 16  # of a java.util.HashSet


class Election(Enum):
    """Who is looked for when a partition is changed."""

    #: The present leader if it can stay, else any replica that can lead.
    ONLINE = "online"
    #: The first replica before the present leader.
    PREFERRED = "preferred"
    #: As ONLINE, and a replica that may lack records rather than none.
    UNCLEAN = "unclean"


@dataclass(slots=True)
class Target:
    """What is wanted of a partition."""

    replicas: list[int]
    isr: list[int]
    adding: list[int]
    removing: list[int]
    recovery_state: int
    #: Log directories of replicas, where the change names them.
    directories: dict[int, bytes] = field(default_factory=dict)
    #: Replicas whose disk may have lost records: not eligible before they have caught up.
    after_unclean_shutdown: Collection[int] = ()

    @classmethod
    def of(cls, partition: PartitionImage) -> Target:
        """The partition as it is."""
        return cls(
            list(partition.replicas),
            list(partition.isr),
            list(partition.adding_replicas),
            list(partition.removing_replicas),
            partition.leader_recovery_state,
        )


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the rules need to know of the cluster and of the topic."""

    #: Whether the replica on a broker may lead now: the broker is active, and the log directory is online.
    may_lead: Callable[[int], bool]
    #: ``min.insync.replicas``, or the number of replicas if that is less.
    min_isr: int
    #: Whether eligible replicas are kept (the feature's level is 1).
    keeps_eligible: bool
    #: The log directory of a new replica on a broker.
    directory_for: Callable[[int], bytes]
    #: Whether a smaller ISR needs a new leader epoch, as it did before metadata.version 3.6-IV0.
    shrinking_needs_epoch: bool = False


class _Elected(NamedTuple):
    leader: int
    unclean: bool = False


def partition_change(
    before: PartitionImage, topic_id: bytes, target: Target, around: Circumstances, election: Election = Election.ONLINE
) -> PartitionChangeRecord | None:
    """The record that brings a partition as near to ``target`` as the rules allow; None if nothing changes."""
    _complete_reassignment(target)
    isr, eligible = target.isr, _eligible(before, target, around)
    record = PartitionChangeRecord(topic_id=topic_id, partition_id=before.index)
    elected = _elect(before, target, eligible, around, election)
    if elected.leader != before.leader:
        record.leader = elected.leader
        if elected.leader in eligible:
            isr = [elected.leader]
            eligible.remove(elected.leader)
        if elected.unclean:
            isr, eligible = [elected.leader], []
            record.isr = isr
            if before.leader_recovery_state != RECOVERING:
                record.leader_recovery_state = RECOVERING
    if isr != before.isr and (isr or around.keeps_eligible):
        record.isr = isr
    if record.leader == NO_LEADER_CHANGE and _needs_epoch(before, target, record, around):
        record.leader = before.leader
    _note_eligible(before, record, eligible, around)
    _note_assignment(before, target, record, around)
    if target.recovery_state != before.leader_recovery_state:
        record.leader_recovery_state = target.recovery_state
    return None if record == PartitionChangeRecord(topic_id=topic_id, partition_id=before.index) else record


def _complete_reassignment(target: Target) -> None:
    done = completed_reassignment(target.replicas, target.adding, target.removing, target.isr)
    if done is not None:
        target.replicas, target.isr = done
        target.adding, target.removing = [], []


def _eligible(before: PartitionImage, target: Target, around: Circumstances) -> list[int]:
    """Who left an ISR that was too small for acknowledgements has missed nothing since, unless its disk lost it.

    Unlike in Kafka, a replica that a reassignment has removed is not eligible: its log is deleted, and it could lead when it is added
    again.
    """
    if not around.keeps_eligible:
        return list(before.eligible_leader_replicas)  # of a higher level before; they may lead once more
    if len(target.isr) >= around.min_isr:
        return []
    known = dict.fromkeys((*before.eligible_leader_replicas, *before.isr))
    in_order = in_map_order(known, lambda replica: replica, at_least=_FEWEST_BUCKETS)
    excluded = {*target.isr, *target.after_unclean_shutdown}
    return [each for each in in_order if each in target.replicas and each not in excluded]


def _elect(
    before: PartitionImage, target: Target, eligible: list[int], around: Circumstances, election: Election
) -> _Elected:
    complete = target.isr or eligible
    preferred_first = target.replicas[:1] if election is Election.PREFERRED else []
    for replica in (*preferred_first, before.leader, *target.replicas):
        if replica in complete and around.may_lead(replica):
            return _Elected(replica)
    if around.keeps_eligible and not complete and len(before.last_known_elr) == 1:
        (last_leader,) = before.last_known_elr
        if around.may_lead(last_leader):
            return _Elected(last_leader, unclean=True)
    if election is Election.UNCLEAN:
        for replica in target.replicas:
            if around.may_lead(replica):
                return _Elected(replica, unclean=True)
    return _Elected(NO_LEADER)


def _needs_epoch(before: PartitionImage, target: Target, record: PartitionChangeRecord, around: Circumstances) -> bool:
    """Whether a change without another leader starts a leader epoch: a removed replica must not be fetched from or join again."""
    if not set(before.replicas) <= set(target.replicas):
        return True
    return around.shrinking_needs_epoch and record.isr is not None and not set(before.isr) <= set(record.isr)


def _note_eligible(
    before: PartitionImage, record: PartitionChangeRecord, eligible: list[int], around: Circumstances
) -> None:
    kept = eligible if around.keeps_eligible else []
    if kept != before.eligible_leader_replicas:
        record.eligible_leader_replicas = kept
    if not around.keeps_eligible:
        return
    if record.leader == NO_LEADER and not before.last_known_elr:
        record.last_known_elr = [before.leader]
    elif record.leader >= 0 and before.last_known_elr:
        record.last_known_elr = []


def _note_assignment(
    before: PartitionImage, target: Target, record: PartitionChangeRecord, around: Circumstances
) -> None:
    now = before.directories or [MIGRATING] * len(before.replicas)
    named = {**dict(zip(before.replicas, now, strict=True)), **target.directories}
    directories = [named[each] if each in named else around.directory_for(each) for each in target.replicas]
    if directories != now:
        record.directories = directories
    if target.replicas != before.replicas:
        record.replicas = target.replicas
    if target.removing != before.removing_replicas:
        record.removing_replicas = target.removing
    if target.adding != before.adding_replicas:
        record.adding_replicas = target.adding
