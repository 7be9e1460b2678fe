"""The transaction coordinator's shell: it finds the shard of a transactional id, appends, replays, writes markers.

There is one for all brokers of the process, with one shard per partition of ``__transaction_state`` (``shards.py``).
What a step does is decided by pure functions (``initializing``, ``adding``, ``ending``);
here it is appended, and only then does it count.

An end goes: the decision is appended (PREPARE_COMMIT or PREPARE_ABORT), a marker is appended to every partition of the
transaction, the completion is appended. All partitions are in this process, so the three usually happen in one go,
before the client has its answer. Where a topic's flush settings make it wait for the disk, or a disk fails, the
transaction stays prepared meanwhile; one that is found prepared after a restart goes on in ``completing``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.coordination.groups.placement import partition_for
from pykbroker.coordination.shards import Loaded, Shards, shown
from pykbroker.coordination.transactions import adding, ending, initializing
from pykbroker.coordination.transactions.completing import WRITTEN_AT_ONCE, Completion
from pykbroker.coordination.transactions.initializing import Expected
from pykbroker.coordination.transactions.loading import Loading
from pykbroker.coordination.transactions.records import encode, encode_key
from pykbroker.coordination.transactions.settings import TransactionSettings
from pykbroker.coordination.transactions.shard import TransactionShard
from pykbroker.coordination.transactions.transaction import PREPARED, TopicPartition, Transaction
from pykbroker.metadata.features import TRANSACTION_VERSION
from pykbroker.metadata.names import TRANSACTION_STATE
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinationHost, Node
    from pykbroker.runtime.slices import Steps

log = logging.getLogger(__name__)

#: While partitions are read at the start, how long until the next look whether one has come.
_READING_PAUSE_MS = 20

#: What an abort weighs, and its markers half of it each, and the look at a transactional id that nothing is due for (``slices.py``).
_ABORT_WEIGHT = 16
_LOOK_WEIGHT = 0.02


class ProducerIdentity(NamedTuple):
    """What a producer signs its batches with."""

    producer_id: int
    epoch: int


_Loaded = Loaded[TransactionShard]


class TransactionCoordinator:
    """See the module. A broker of None stands for this process itself, which may ask any shard."""

    def __init__(self, cluster: CoordinationHost) -> None:
        self._cluster = cluster
        self._settings = TransactionSettings.from_config(cluster.config)
        self.shards: Shards[_Loaded] = Shards(
            cluster,
            TRANSACTION_STATE,
            begin=lambda partition: Loading(partition, TransactionShard()),
            complete=lambda loading: Loaded(loading.partition, loading.shard),
            opened=self._opened,
            dropped=lambda _: None,
            eager=True,  # what is open needs somebody who ends it in time
        )
        cluster.metadata.subscribe(lambda _, delta: self.shards.follow(delta))
        cluster.runtime.slices.every(self._settings.abort_interval_ms, self._abort_timed_out)
        cluster.runtime.slices.every(self._settings.expiration_interval_ms, self._expire)

    # Where transactional ids live

    def partition_of(self, transactional_id: str) -> int:
        """The partition of ``__transaction_state`` that a transactional id lives in."""
        topic = self._cluster.metadata.image.topic(TRANSACTION_STATE)
        return partition_for(transactional_id, self._settings.partitions if topic is None else len(topic.partitions))

    def load(self, index: int = 0) -> None:
        """Read every partition from ``index`` on, one in a turn of the loop, so that what was open or prepared when the
        process ended comes to its end.
        """
        if self._cluster.partition(TRANSACTION_STATE, index) is None:
            return
        following, pause_ms = index + 1, 0
        try:
            self.shards.at(None, index)
        except KafkaError as error:  # logged already; the next request tries again
            if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                following, pause_ms = index, _READING_PAUSE_MS
        self._cluster.runtime.timers.after(pause_ms, partial(self.load, following))

    def _shard_of(self, broker: Node | None, transactional_id: str) -> _Loaded:
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        return self.shards.at(broker, self.partition_of(transactional_id))

    def _opened(self, loaded: _Loaded) -> None:
        partition, shard = loaded.partition, loaded.shard
        for transaction in list(shard.prepared()):
            self._complete(loaded, transaction)
        self.shards.tell_loaded(partition, "transactional id", len(shard.transactions))

    # Requests

    def init_producer_id(
        self, broker: Node, transactional_id: str, timeout_ms: int, expected: Expected | None
    ) -> Deferred[ProducerIdentity]:
        """The identity of a new incarnation of the producer.

        Raises, or fails with, KafkaError: INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, NOT_COORDINATOR,
        CONCURRENT_TRANSACTIONS, PRODUCER_FENCED.
        """
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if not 0 < timeout_ms <= self._settings.max_timeout_ms:
            raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        loaded = self._shard_of(broker, transactional_id)
        transaction = loaded.shard.transactions.get(transactional_id)
        if transaction is None:
            transaction = Transaction(
                transactional_id=transactional_id, producer_id=broker.next_producer_id(), timeout_ms=timeout_ms
            )
        changed = initializing.init_producer_id(
            transaction,
            expected,
            timeout_ms,
            server_version=self._server_version,
            new_producer_id=broker.next_producer_id,
            now_ms=self._cluster.runtime.clock.now_ms(),
        )
        if changed.state in PREPARED:
            return self._end(loaded, changed).map(_try_again)
        return self._change(loaded, changed).map(lambda _: _identity(changed))

    def add_partitions(
        self,
        broker: Node | None,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
        *,
        client_version: int,
    ) -> Deferred[None]:
        """Completes when the partitions are part of the transaction. Raises, or fails with, KafkaError (``adding``)."""
        loaded = self._shard_of(broker, transactional_id)
        transaction = loaded.shard.transactions.get(transactional_id)
        changed = adding.add_partitions(
            transaction,
            producer_id,
            producer_epoch,
            frozenset(partitions),
            client_version=client_version,
            now_ms=self._cluster.runtime.clock.now_ms(),
        )
        if changed is transaction:
            return loaded.partition.committed() or Deferred.completed(None)
        return self._change(loaded, changed)

    def verify_partitions(
        self,
        broker: Node | None,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
    ) -> dict[TopicPartition, ErrorCode]:
        """Which partitions are part of the transaction. Raises KafkaError (``adding.verify_partitions``)."""
        transaction = self._shard_of(broker, transactional_id).shard.transactions.get(transactional_id)
        return adding.verify_partitions(transaction, producer_id, producer_epoch, partitions)

    def end(
        self,
        broker: Node,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        *,
        commit: bool,
        client_version: int,
    ) -> Deferred[ProducerIdentity]:
        """Commit or abort; the identity to go on with. Raises, or fails with, KafkaError (``ending``)."""
        loaded = self._shard_of(broker, transactional_id)
        transaction = loaded.shard.transactions.get(transactional_id)
        changed = ending.end_transaction(
            transaction,
            producer_id,
            producer_epoch,
            commit=commit,
            client_version=client_version,
            new_producer_id=broker.next_producer_id,
            now_ms=self._cluster.runtime.clock.now_ms(),
        )
        if changed is transaction:
            return Deferred.completed(_identity(changed))
        # The epochs of the identity may be used up: then the client goes on with the one that the completion brings.
        following = changed.completed(changed.updated_ms)
        return self._end(loaded, changed).map(lambda _: _identity(following))

    def transaction(self, broker: Node, transactional_id: str) -> Transaction | None:
        """A transactional id's value. Raises KafkaError with INVALID_REQUEST or NOT_COORDINATOR."""
        return self._shard_of(broker, transactional_id).shard.transactions.get(transactional_id)

    def transactions(self, broker: Node) -> Iterator[Transaction]:
        """All transactional ids that the broker coordinates."""
        for loaded in self.shards.led_by(broker):
            yield from loaded.shard.transactions.values()

    # Steps

    @property
    def _server_version(self) -> int:
        return self._cluster.metadata.image.features.get(TRANSACTION_VERSION, 0)

    def _change(self, loaded: _Loaded, changed: Transaction) -> Deferred[None]:
        """Append and replay; completes when it will not be lost. Raises KafkaError as clients are to see it."""
        if not self.shards.is_in_use(loaded):
            raise KafkaError(ErrorCode.NOT_COORDINATOR)  # the partition moved while this waited
        try:
            record = encode(changed, self._server_version)
            appended = loaded.partition.append_internal([record], self._cluster.runtime.clock.now_ms())
        except KafkaError as error:
            log.warning("A transaction could not be appended to %r: %s", loaded.partition, error)
            raise KafkaError(shown(error.code)) from error
        loaded.shard.replay(changed.transactional_id, changed)
        return appended.committed or Deferred.completed(None)

    def _end(self, loaded: _Loaded, prepared: Transaction) -> Deferred[None]:
        """Append the decision; completes when it is committed, and the markers are on their way or written already."""
        committed = self._change(loaded, prepared).recover(KafkaError, _look_again)
        return committed.map(lambda _: self._complete(loaded, prepared))

    def _complete(self, loaded: _Loaded, prepared: Transaction) -> None:
        Completion(
            self._cluster,
            prepared,
            coordinator=loaded.partition,
            retry_ms=self._settings.marker_retry_ms,
            wanted=lambda: self.shards.is_in_use(loaded),
            finished=lambda: self._completed(loaded, prepared),
        ).run()

    def _completed(self, loaded: _Loaded, prepared: Transaction) -> None:
        self._change(loaded, prepared.completed(self._cluster.runtime.clock.now_ms()))

    # Time

    def _abort_timed_out(self) -> Steps:
        """Each transaction that is late, unless its producer ended it before its turn came."""
        now_ms = self._cluster.runtime.clock.now_ms()
        for loaded in list(self.shards.loaded.values()):
            for late in list(loaded.shard.timed_out(now_ms)):
                transaction = loaded.shard.transactions.get(late.transactional_id)
                if transaction is late and self.shards.is_in_use(loaded):
                    self._abort(loaded, transaction, now_ms)
                    yield _ABORT_WEIGHT * (1 + min(len(late.partitions), WRITTEN_AT_ONCE) / 2)
            yield _LOOK_WEIGHT * len(loaded.shard.transactions)

    def _abort(self, loaded: _Loaded, transaction: Transaction, now_ms: int) -> None:
        new_producer_id = partial(self._new_producer_id, loaded)
        try:
            self._end(loaded, ending.abort_ongoing(transaction, self._server_version, new_producer_id, now_ms))
        except KafkaError as error:
            log.warning("%s is late and could not be aborted: %s", transaction.transactional_id, error)
        else:
            log.info("Aborted a transaction of %s that took too long", transaction.transactional_id)

    def _new_producer_id(self, loaded: _Loaded) -> int:
        return self._cluster.node(loaded.partition.leader).next_producer_id()

    def _expire(self) -> Steps:
        now_ms, expiration_ms = self._cluster.runtime.clock.now_ms(), self._settings.expiration_ms
        for loaded in list(self.shards.loaded.values()):
            expired = [each.transactional_id for each in loaded.shard.expired(now_ms, expiration_ms)]
            yield _LOOK_WEIGHT * len(loaded.shard.transactions)
            at_once = max(1, int(self._cluster.runtime.slices.weight_of_a_step))
            for begin in range(0, len(expired), at_once):
                if not self.shards.is_in_use(loaded):
                    break
                some = expired[begin : begin + at_once]
                known = map(loaded.shard.transactions.get, some)
                self._remove(loaded, [each for each in known if each and each.is_expired(now_ms, expiration_ms)])
                yield len(some)

    def _remove(self, loaded: _Loaded, expired: list[Transaction]) -> None:
        """Tombstones, in as many batches as they need; what cannot be appended is tried again in the next round."""
        names = [each.transactional_id for each in expired]
        tombstones = [(encode_key(name), None) for name in names]
        for some in loaded.partition.batches_that_fit(tombstones):
            try:
                loaded.partition.append_internal(tombstones[some], self._cluster.runtime.clock.now_ms())
            except KafkaError as error:
                log.warning("%d expired transactional ids could not be removed: %s", len(names[some]), error)
            else:
                for name in names[some]:
                    loaded.shard.replay(name, None)


def _identity(transaction: Transaction) -> ProducerIdentity:
    return ProducerIdentity(transaction.producer_id, transaction.producer_epoch)


def _look_again(error: KafkaError) -> None:
    """What is not durable may be undone: the client is to ask who coordinates."""
    raise KafkaError(ErrorCode.NOT_COORDINATOR) from error


def _try_again(_: None) -> ProducerIdentity:
    raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
