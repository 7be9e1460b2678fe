"""What of a cluster of the model what follows depends on, as keys; and before, what nobody will read is dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pykbroker.replication.isr import CommittedIsr, ProposedIsr
from pykbroker.replication.leading import UNKNOWN_OFFSET, Leading, ReplicaProgress
from pykbroker.tests.replication.keys import Common, Key, Part
from pykbroker.tests.replication.model import LATEST, Batch, FetchAnswer, ModelCluster, PartitionState, ReplicaOfModel

# -- what goes before it is looked at -------------------------------------------------------------------------------------


def settle(cluster: ModelCluster) -> None:
    """Let happen what changes nothing that anybody can see, now or later: messages go that are ignored whenever they arrive, metadata are
    taken that say nothing new, and a high watermark goes that nobody will ask for.
    """
    replicas = cluster.replicas
    first = min([each.seen for each in replicas.values() if each.alive], default=len(cluster.records)) - 1
    del cluster.records[:first]
    for node, replica in replicas.items():
        replica.seen -= first
        while replica.alive and replica.seen < len(cluster.records) and _says_nothing(cluster, node, replica):
            cluster.apply_metadata(node)
    cluster.answers = [each for each in cluster.answers if not is_ignored(replicas[each[0]], each[1], each[2].asked[0])]
    cluster.alter_answers = [each for each in cluster.alter_answers if _is_awaited(replicas[each[0]], each[1], each[2])]
    cluster.fetches = [
        each
        for each in cluster.fetches
        if not (is_ignored(replicas[each[0]], each[1], each[3][0]) and _is_past(cluster, each[2], each[3][0]))
    ]
    if not cluster.may_any("elections", "crashes", "unclean"):
        _forget_high_watermarks(cluster)


def _forget_high_watermarks(cluster: ModelCluster) -> None:
    """Nobody is elected any more, so a follower's high watermark is only seen, and looked at when an answer says it. In the last leader epoch
    that may say the latest: what readers see of a replica must be committed, whenever they hear of it.
    """
    last = cluster.records[-1].leader_epoch
    followers = {
        node
        for node, replica in cluster.replicas.items()
        if replica.leading is None and all(state.leader != node for state in _unseen(cluster, node))
    }
    for node in followers:
        cluster.replicas[node].high_watermark = 0
    cluster.answers = [
        (node, epoch, answer._replace(high_watermark=LATEST))
        if node in followers and answer.asked.leader_epoch == last and answer.high_watermark >= 0
        else (node, epoch, answer)
        for node, epoch, answer in cluster.answers
    ]


def _unseen(cluster: ModelCluster, node: int) -> Iterator[PartitionState]:
    """The metadata that a replica has not seen. Where it is not the leader, only the first of a leader epoch says anything."""
    replica = cluster.replicas[node]
    if not replica.alive:
        return
    known = cluster.records[replica.seen - 1]
    for state in cluster.records[replica.seen :]:
        if state.leader == node or (known.leader, known.leader_epoch) != (state.leader, state.leader_epoch):
            yield state
        known = state


def _says_nothing(cluster: ModelCluster, node: int, replica: ReplicaOfModel) -> bool:
    """Whether the next record of the metadata leaves a replica as it is. A follower looks at living brokers when it leads, by a later record."""
    known, state = cluster.records[replica.seen - 1], cluster.records[replica.seen]
    if (known.leader, known.leader_epoch) != (state.leader, state.leader_epoch):
        return False
    leading = replica.leading
    if leading is None:
        return state.leader != node
    return state.partition_epoch <= leading.isr.partition_epoch and dict(state.brokers) == replica.living


def is_ignored(replica: ReplicaOfModel, broker_epoch: int, leader_epoch: int) -> bool:
    """Whether a follower ignores an answer in this leader epoch, now and for ever."""
    if not replica.alive or replica.broker_epoch != broker_epoch:
        return True
    return epoch_known(replica) > leader_epoch


def epoch_known(replica: ReplicaOfModel) -> int:
    """The leader epoch that a replica is in, -1 where it knows of no leader."""
    if replica.leading is not None:
        return replica.leading.isr.leader_epoch
    return -1 if replica.following is None else replica.following.leader_epoch


def _is_awaited(replica: ReplicaOfModel, broker_epoch: int, number: int) -> bool:
    sent = replica.altering._sent
    return replica.alive and replica.broker_epoch == broker_epoch and sent is not None and sent.number == number


def _is_past(cluster: ModelCluster, node: int, leader_epoch: int) -> bool:
    """Whether a node refuses whoever asks it in this leader epoch, now and for ever; not where the node is no part of this."""
    replica = cluster.replicas.get(node)
    if replica is None:
        return False
    known = epoch_known(replica) if replica.alive else cluster.records[-1].leader_epoch
    return known > leader_epoch


# -- the rest -------------------------------------------------------------------------------------------------------------


def common_of(cluster: ModelCluster) -> Common:
    """What all have in common."""
    appends, *others = cluster.left.values()
    faults = cluster.left["faults"]
    left = (appends, *[min(each, faults) for each in others])
    return Common(left, _batches(cluster.committed), _state_of(cluster.records[-1]))


def part_of(cluster: ModelCluster, node: int) -> Part:
    """What one broker has of it."""
    replica = cluster.replicas[node]
    altering = replica.altering
    sent = altering._sent
    number = -1 if sent is None else sent.number
    disk = (
        (node, replica.broker_epoch),
        _batches(replica.batches),
        tuple(replica.epochs.entries()),
        tuple(sorted([((node, each[1]), each[2], tuple(each[3])) for each in cluster.fetches if each[0] == node])),
        tuple(sorted([_proposal(each, number) for each in cluster.proposals if each[0] == node])),
    )
    if not replica.alive:
        return Part(*disk, alive=False)
    leading, following = replica.leading, replica.following
    proposed = None if leading is None else leading.isr.proposed
    return Part(
        *disk,
        alive=True,
        high_watermark=replica.high_watermark,
        leader=cluster.records[replica.seen - 1].leader,
        unseen=tuple(map(_state_of, _unseen(cluster, node))),
        living=() if leading is None else tuple(sorted(replica.living.items())),
        leading=() if leading is None else _leading(leading, cluster.now_ms),
        following=()
        if following is None
        else (following.leader_epoch, following.offset, following.last_fetched_epoch, following.stopped),
        sent=_altering_of(sent and sent.changes[0], proposed),
        waiting=_altering_of(altering._waiting.get(0), proposed),
        answers=tuple(sorted([_answer(each) for each in cluster.answers if each[0] == node])),
        altered=tuple(sorted([_told(each[3]) for each in cluster.alter_answers if each[0] == node])),
    )


def _batches(batches: Iterable[Batch]) -> tuple[int, ...]:
    return tuple([epoch for epoch, _ in batches])


def _state_of(state: PartitionState) -> Key:
    leader, leader_epoch, partition_epoch, isr, brokers = state
    return leader, leader_epoch, partition_epoch, tuple(sorted(isr)), tuple(sorted(brokers))


def _change_of(change: ProposedIsr) -> Key:
    return change.leader_epoch, change.partition_epoch, tuple(sorted(map(tuple, change.members)))


def _altering_of(change: ProposedIsr | None, proposed: ProposedIsr | None) -> Key:
    return () if change is None else (change is proposed, _change_of(change))


def _leading(leading: Leading, now_ms: int) -> Key:
    isr = leading.isr
    return (
        isr.leader_epoch,
        isr.partition_epoch,
        tuple(sorted(isr.committed)),
        tuple(sorted(isr.maximal)),
        () if isr.proposed is None else _change_of(isr.proposed),
        leading.epoch_start,
        tuple(sorted([_progress(each, it, now_ms) for each, it in leading.followers.items()])),
    )


def _progress(node: int, it: ReplicaProgress, now_ms: int) -> Key:
    caught_up, fetched = it.caught_up_ms == now_ms, it.fetched_ms == now_ms
    # By the next fetch the end is another, and it counts until then where that says that it was caught up at this one.
    leader_end = it.leader_end if fetched and not caught_up else UNKNOWN_OFFSET
    return (node, it.broker_epoch), it.log_end, leader_end, caught_up, fetched


def _answer(message: tuple[int, int, FetchAnswer]) -> Key:
    node, broker_epoch, (asked, code, diverging, batches, high_watermark, start, end) = message
    log = _batches(batches)
    return (node, broker_epoch), tuple(asked), int(code), diverging or (), log, high_watermark, start, end


def _proposal(message: Any, awaited: int) -> Key:
    node, broker_epoch, request = message
    return (node, broker_epoch), request.number == awaited, _change_of(request.changes[0])


def _told(told: CommittedIsr | int) -> Key:
    if isinstance(told, CommittedIsr):
        return 0, told.leader_epoch, told.partition_epoch, tuple(sorted(told.members))
    return (int(told),)
