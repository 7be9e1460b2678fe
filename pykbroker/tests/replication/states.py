"""What of a state of the model what follows depends on, so that orders of events that lead to the same are gone on from once.

Nodes, epochs and values are compared with each other alone, so they are renamed: states that differ in names are one. Of times it counts
whether they are longer ago than a replica may lag. Messages whose arrival can change nothing any more are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import permutations, product
from marshal import dumps
from typing import Any, Final

from pykbroker.replication.isr import CommittedIsr, ProposedIsr
from pykbroker.replication.leading import Leading, ReplicaProgress
from pykbroker.tests.replication.model import FetchAnswer, ModelCluster, PartitionState, ReplicaOfModel

_NONE: Final = -9
#: Of marshal, without references, which depend on who else has an object.
_VERSION: Final = 2

Key = tuple[Any, ...]


def digest_of(cluster: ModelCluster) -> bytes:
    """Eight bytes for ``key_of``."""
    return blake2b(dumps(key_of(cluster), _VERSION), digest_size=8).digest()


def key_of(cluster: ModelCluster) -> Key:
    """Equal for states after which the same may follow, but for names."""
    return min(_Names(cluster, order).key() for order in _orders(cluster))


def settle(cluster: ModelCluster) -> None:
    """Let happen what changes nothing that anybody can see, now or later: messages go that are ignored whenever they arrive, and metadata are
    taken that say nothing new.
    """
    replicas = cluster.replicas
    first = min([each.seen for each in replicas.values() if each.alive], default=len(cluster.records)) - 1
    del cluster.records[:first]
    for node, replica in replicas.items():
        replica.seen -= first
        while replica.alive and replica.seen < len(cluster.records) and _says_nothing(cluster, node, replica):
            cluster.apply_metadata(node)
    cluster.answers = [
        each for each in cluster.answers if not _is_ignored(replicas[each[0]], each[1], each[2].asked[0])
    ]
    cluster.alter_answers = [each for each in cluster.alter_answers if _is_awaited(replicas[each[0]], each[1], each[2])]
    cluster.fetches = [
        each
        for each in cluster.fetches
        if not (_is_ignored(replicas[each[0]], each[1], each[3][0]) and _is_past(cluster, each[2], each[3][0]))
    ]


def _pending(cluster: ModelCluster, node: int) -> Iterator[PartitionState]:
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


def _is_ignored(replica: ReplicaOfModel, broker_epoch: int, leader_epoch: int) -> bool:
    """Whether a follower ignores an answer in this leader epoch, now and for ever."""
    if not replica.alive or replica.broker_epoch != broker_epoch:
        return True
    return _epoch_known(replica) > leader_epoch


def _epoch_known(replica: ReplicaOfModel) -> int:
    if replica.leading is not None:
        return replica.leading.isr.leader_epoch
    return -1 if replica.following is None else replica.following.leader_epoch


def _is_awaited(replica: ReplicaOfModel, broker_epoch: int, number: int) -> bool:
    sent = replica.altering._sent
    return replica.alive and replica.broker_epoch == broker_epoch and sent is not None and sent.number == number


def _is_past(cluster: ModelCluster, node: int, leader_epoch: int) -> bool:
    """Whether a node refuses whoever asks it in this leader epoch, now and for ever."""
    replica = cluster.replicas[node]
    known = _epoch_known(replica) if replica.alive else cluster.records[-1].leader_epoch
    return known > leader_epoch


def _orders(cluster: ModelCluster) -> Iterator[tuple[int, ...]]:
    """The orders of nodes that are worth a look: they rise by what each is without names, so all are tried of those that are alike."""
    kinds: dict[Key, list[int]] = {}
    for node, replica in cluster.replicas.items():
        kinds.setdefault(_kind(cluster, node, replica), []).append(node)
    for orders in product(*(permutations(kinds[kind]) for kind in sorted(kinds))):
        yield tuple(node for order in orders for node in order)


def _kind(cluster: ModelCluster, node: int, replica: ReplicaOfModel) -> Key:
    state = cluster.records[-1]
    return (
        state.leader == node,
        node in state.isr,
        replica.alive,
        len(replica.batches),
        replica.high_watermark,
        sum(1 for _ in _pending(cluster, node)),
        replica.leading is not None,
        sum(each[0] == node for each in cluster.fetches),
        sum(each[0] == node for each in cluster.answers),
        len(replica.epochs.entries()),
    )


class _Names:
    """One state with the names that an order of its nodes gives."""

    def __init__(self, cluster: ModelCluster, order: tuple[int, ...]) -> None:
        self._cluster = cluster
        self._order = order
        self._nodes = {node: number for number, node in enumerate(order)} | {-1: -1}
        self._values: dict[int, int] = {}
        self._pending = {node: list(_pending(cluster, node)) for node in order}
        self._records = [cluster.records[-1], *(each for some in self._pending.values() for each in some)]
        self._epochs = _ranks(self._leader_epochs())
        self._partition_epochs = _ranks(self._all_partition_epochs())
        self._broker_epochs = {
            node: _ranks(epoch for each, epoch in self._all_broker_epochs() if each == node) for node in order
        }

    def key(self) -> Key:
        cluster = self._cluster
        left = cluster.left
        batches = self._batches
        return (
            tuple(min(each, left["faults"]) for what, each in left.items() if what != "appends"),
            left["appends"],
            batches(cluster.committed),
            self._state(cluster.records[-1]),
            tuple(self._replica(cluster.replicas[node]) for node in self._order),
            tuple(sorted(self._fetch(*each) for each in cluster.fetches)),
            tuple(sorted(self._answer(*each) for each in cluster.answers)),
            tuple(sorted(self._proposal(*each) for each in cluster.proposals)),
            tuple(sorted(self._altered(*each) for each in cluster.alter_answers)),
        )

    # -- what there is of epochs ----------------------------------------------------------------------------------------

    def _leader_epochs(self) -> Iterator[int]:
        cluster = self._cluster
        for state in self._records:
            yield state.leader_epoch
        for replica in cluster.replicas.values():
            for epoch, _ in replica.batches:
                yield epoch
            for epoch, _ in replica.epochs.entries():
                yield epoch
            if replica.leading is not None:
                yield replica.leading.isr.leader_epoch
            if replica.following is not None:
                yield replica.following.leader_epoch
                yield replica.following.last_fetched_epoch
        for *_, place in cluster.fetches:
            yield place.leader_epoch
            yield place.last_fetched_epoch
        for *_, answer in cluster.answers:
            yield answer.asked.leader_epoch
            yield answer.asked.last_fetched_epoch
            for epoch, _ in answer.batches:
                yield epoch
            if answer.diverging is not None:
                yield answer.diverging[0]
        for *_, told in cluster.alter_answers:
            if isinstance(told, CommittedIsr):
                yield told.leader_epoch
        for change in self._changes():
            yield change.leader_epoch
        for epoch, _ in cluster.committed:
            yield epoch

    def _all_partition_epochs(self) -> Iterator[int]:
        cluster = self._cluster
        for state in self._records:
            yield state.partition_epoch
        for replica in cluster.replicas.values():
            if replica.leading is not None:
                yield replica.leading.isr.partition_epoch
        for *_, told in cluster.alter_answers:
            if isinstance(told, CommittedIsr):
                yield told.partition_epoch
        for change in self._changes():
            yield change.partition_epoch

    def _all_broker_epochs(self) -> Iterator[tuple[int, int]]:
        cluster = self._cluster
        for state in self._records:
            yield from state.brokers
        for node, replica in cluster.replicas.items():
            yield node, replica.broker_epoch
            yield from replica.living.items()
            if replica.leading is not None:
                for each, progress in replica.leading.followers.items():
                    yield each, progress.broker_epoch
        for each in (*cluster.fetches, *cluster.answers, *cluster.proposals, *cluster.alter_answers):
            yield each[0], each[1]
        for change in self._changes():
            yield from change.members

    def _changes(self) -> Iterator[ProposedIsr]:
        cluster = self._cluster
        for *_, request in cluster.proposals:
            yield request.changes[0]
        for replica in cluster.replicas.values():
            if replica.leading is not None and replica.leading.isr.proposed is not None:
                yield replica.leading.isr.proposed
            altering = replica.altering
            if altering._sent is not None:
                yield altering._sent.changes[0]
            yield from altering._waiting.values()

    # -- the same with other names --------------------------------------------------------------------------------------

    def _batches(self, batches: Iterable[tuple[int, int]]) -> Key:
        names = self._values
        return tuple((self._epochs[epoch], names.setdefault(value, len(names))) for epoch, value in batches)

    def _set(self, nodes: Iterable[int]) -> Key:
        return tuple(sorted(self._nodes[each] for each in nodes))

    def _brokers(self, brokers: Iterable[tuple[int, int]]) -> Key:
        return tuple(sorted((self._nodes[node], self._broker_epochs[node][epoch]) for node, epoch in brokers))

    def _state(self, state: PartitionState) -> Key:
        return (
            self._nodes[state.leader],
            self._epochs[state.leader_epoch],
            self._partition_epochs[state.partition_epoch],
            self._set(state.isr),
            self._brokers(state.brokers),
        )

    def _change(self, change: ProposedIsr | None) -> Key:
        if change is None:
            return ()
        epochs = self._epochs[change.leader_epoch], self._partition_epochs[change.partition_epoch]
        return (*epochs, *self._brokers(change.members))

    def _place(self, place: tuple[int, int, int]) -> Key:
        return (self._epochs[place[0]], place[1], self._epochs[place[2]])

    def _replica(self, replica: ReplicaOfModel) -> Key:
        node = replica.node_id
        log = (
            self._batches(replica.batches),
            tuple((self._epochs[epoch], start) for epoch, start in replica.epochs.entries()),
            self._broker_epochs[node][replica.broker_epoch],
        )
        if not replica.alive:
            return log
        following, altering = replica.following, replica.altering
        proposed = None if replica.leading is None else replica.leading.isr.proposed
        sent = altering._sent and altering._sent.changes[0]
        waiting = altering._waiting.get(0)
        return (
            *log,
            replica.high_watermark,
            tuple(map(self._state, self._pending[node])),
            self._nodes[self._cluster.records[replica.seen - 1].leader],
            () if replica.leading is None else self._brokers(replica.living.items()),
            () if replica.leading is None else self._leading(replica.leading),
            ()
            if following is None
            else (
                *self._place((following.leader_epoch, following.offset, following.last_fetched_epoch)),
                following.stopped,
            ),
            (*self._change(sent), sent is proposed),
            (*self._change(waiting), waiting is proposed),
        )

    def _leading(self, leading: Leading) -> Key:
        isr = leading.isr
        followers = [(self._nodes[each], *self._progress(each, it)) for each, it in leading.followers.items()]
        return (
            self._epochs[isr.leader_epoch],
            self._partition_epochs[isr.partition_epoch],
            self._set(isr.committed),
            self._change(isr.proposed),
            leading.epoch_start,
            tuple(sorted(followers)),
        )

    def _progress(self, node: int, it: ReplicaProgress) -> Key:
        now_ms = self._cluster.now_ms
        epoch = self._broker_epochs[node][it.broker_epoch]
        caught_up, fetched = it.caught_up_ms == now_ms, it.fetched_ms == now_ms
        # By the next fetch the end is another, and it counts until then where that says that it was caught up at this one.
        return it.log_end, it.leader_end if fetched and not caught_up else _NONE, caught_up, fetched, epoch

    def _fetch(self, node: int, broker_epoch: int, leader: int, place: Any) -> Key:
        return (
            self._nodes[node],
            self._broker_epochs[node][broker_epoch],
            self._nodes[leader],
            *self._place(place),
        )

    def _answer(self, node: int, broker_epoch: int, answer: FetchAnswer) -> Key:
        diverging = answer.diverging
        return (
            self._nodes[node],
            self._broker_epochs[node][broker_epoch],
            *self._place(answer.asked),
            int(answer.code),
            () if diverging is None else (self._epochs[diverging[0]], diverging[1]),
            self._batches(answer.batches),
            answer.high_watermark,
            answer.start,
            answer.end,
        )

    def _proposal(self, node: int, broker_epoch: int, request: Any) -> Key:
        sent = self._cluster.replicas[node].altering._sent
        epoch = self._broker_epochs[node][broker_epoch]
        return (
            self._nodes[node],
            epoch,
            sent is not None and sent.number == request.number,
            self._change(request.changes[0]),
        )

    def _altered(self, node: int, broker_epoch: int, number: int, told: CommittedIsr | int) -> Key:
        sent = self._cluster.replicas[node].altering._sent
        answer: Key
        if isinstance(told, CommittedIsr):
            epochs = self._epochs[told.leader_epoch], self._partition_epochs[told.partition_epoch]
            answer = (*epochs, self._set(told.members))
        else:
            answer = (int(told), _NONE, ())
        epoch = self._broker_epochs[node][broker_epoch]
        return self._nodes[node], epoch, sent is not None and sent.number == number, answer


def _ranks(found: Iterable[int]) -> dict[int, int]:
    """Each number's place among all; -1 stays."""
    return {epoch: rank for rank, epoch in enumerate(sorted({*found} - {-1}))} | {-1: -1}
