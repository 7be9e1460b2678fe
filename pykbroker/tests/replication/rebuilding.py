"""The model out of what ``states`` says of it: a cluster of one broker, with the machines as they were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pykbroker.replication.altering import AlterRequest
from pykbroker.replication.following import FetchPlace, Following
from pykbroker.replication.isr import CommittedIsr, Isr, IsrMember, ProposedIsr
from pykbroker.replication.leading import Leading
from pykbroker.tests.replication.keys import Common, Key, Part
from pykbroker.tests.replication.model import (
    LAG_MS,
    NODES,
    Batch,
    Bounds,
    FetchAnswer,
    ModelCluster,
    PartitionState,
    ReplicaOfModel,
)

#: The clock of such a cluster is at 0.
_LONG_AGO_MS: Final = -2 * LAG_MS
#: The numbers of the request whose answer is awaited, and of others.
_AWAITED, _FORGOTTEN = 1, 0


def cluster_of(bounds: Bounds, common: Common | None, part: Part | None = None, *, told: bool = False) -> ModelCluster:
    """A cluster of what is common, or of one broker, or of both; ``told`` adds the state of the partition to what the broker has not seen."""
    cluster = ModelCluster(bounds, ())
    if common is not None:
        cluster.left = dict(zip(cluster.left, common.left, strict=True))
        cluster.committed = _batches(common.committed)
        cluster.records = [PartitionState(*common.state)]
    if part is not None:
        _add(cluster, part)
        if part.alive and (common is None or part.unseen or told):
            unseen = [PartitionState(*each) for each in part.unseen]
            if common is not None and (told or part.unseen[-1] != common.state):
                unseen += cluster.records
            cluster.records = [_known(cluster.replicas[part.node], part.leader), *unseen]
    return cluster


def _add(cluster: ModelCluster, part: Part) -> None:
    node = part.node
    replica = cluster.replicas[node] = ReplicaOfModel(node)
    replica.batches = _batches(part.batches)
    for epoch, start in part.epochs:
        replica.epochs.assign(epoch, start)
    replica.high_watermark = part.high_watermark
    replica.broker_epoch = part.broker[1]
    replica.alive = part.alive
    replica.seen = 1
    replica.living = dict(part.living)
    if part.leading:
        replica.leading = _leading(cluster.bounds, replica, part.leading)
    if part.following:
        epoch, offset, last, stopped = part.following
        replica.following = following = Following(epoch, replica)
        following.offset, following.last_fetched_epoch, following.stopped = offset, last, stopped
    _alter(replica, part)
    cluster.fetches = [fetch_of(each) for each in part.fetches]
    cluster.answers = [(*broker, _answer(*answer)) for broker, *answer in part.answers]
    cluster.proposals = [
        (*broker, AlterRequest(_AWAITED if awaited else _FORGOTTEN, {0: _change(change)}))
        for broker, awaited, change in part.proposals
    ]
    cluster.alter_answers = [(*part.broker, _AWAITED, _told(*told)) for told in part.altered]
    # The value of a batch is its offset.
    cluster.next_value = len(replica.batches)


def fetch_of(fetch: Key) -> tuple[int, int, int, FetchPlace]:
    """A fetch under way."""
    broker, leader, place = fetch
    return *broker, leader, FetchPlace(*place)


def _known(replica: ReplicaOfModel, leader: int) -> PartitionState:
    """Of what a broker has seen last what is looked at."""
    machine = replica.following if replica.leading is None else replica.leading.isr
    return PartitionState(leader, -1 if machine is None else machine.leader_epoch, -1, (), ())


def _batches(epochs: Iterable[int]) -> list[Batch]:
    return [(epoch, offset) for offset, epoch in enumerate(epochs)]


def _change(change: Key) -> ProposedIsr:
    epoch, partition_epoch, members = change
    return ProposedIsr(epoch, partition_epoch, tuple(IsrMember(*each) for each in members))


def _leading(bounds: Bounds, replica: ReplicaOfModel, key: Key) -> Leading:
    epoch, partition_epoch, committed, maximal, proposed, epoch_start, followers = key
    isr = Isr(epoch, partition_epoch, committed)
    isr.maximal = frozenset(maximal)
    isr.proposed = _change(proposed) if proposed else None
    leading = Leading(
        replica.node_id,
        isr,
        NODES,
        replica,
        replica.fetches,
        epoch_start=epoch_start,
        min_in_sync=bounds.min_in_sync,
        lag_ms=LAG_MS,
        now_ms=0,
    )
    for (each, broker_epoch), log_end, leader_end, caught_up, fetched in followers:
        progress = leading.followers[each]
        progress.log_end, progress.leader_end, progress.broker_epoch = log_end, leader_end, broker_epoch
        progress.caught_up_ms = 0 if caught_up else _LONG_AGO_MS
        progress.fetched_ms = 0 if fetched else _LONG_AGO_MS
    return leading


def _alter(replica: ReplicaOfModel, part: Part) -> None:
    """A change that was proposed once is one object, wherever it is."""
    altering = replica.altering
    proposed = None if replica.leading is None else replica.leading.isr.proposed
    waiting: ProposedIsr | None = None
    if part.waiting:
        is_proposed, change = part.waiting
        waiting = proposed if is_proposed else _change(change)
        assert waiting is not None
        altering.submit(0, waiting)
    if part.sent:
        is_proposed, change = part.sent
        sent = proposed if is_proposed else _change(change)
        assert sent is not None
        altering._number = _AWAITED
        altering._sent = AlterRequest(_AWAITED, {0: waiting if waiting is not None and waiting == sent else sent})


def _answer(
    asked: Key, code: int, diverging: Key, batches: Key, high_watermark: int, start: int, end: int
) -> FetchAnswer:
    log = tuple((epoch, asked[1] + number) for number, epoch in enumerate(batches))
    return FetchAnswer(FetchPlace(*asked), code, diverging or None, log, high_watermark, start, end)


def _told(code: int, *committed: Key) -> CommittedIsr | int:
    return code or CommittedIsr(*committed)
