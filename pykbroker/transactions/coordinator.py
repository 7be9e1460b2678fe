"""The transaction coordinator's shell: it finds the shard of a transactional id, appends, replays, writes markers.

There is one for all brokers of the process, with one shard per partition of ``__transaction_state``. Only the broker
that leads the partition answers clients; the others say NOT_COORDINATOR, so that clients behave as they would with
brokers on several machines. What a step does is decided by pure functions (``initializing``, ``adding``, ``ending``);
here it is appended, and only then does it count.

An end goes: the decision is appended (PREPARE_COMMIT or PREPARE_ABORT), a marker is appended to every partition of the
transaction, the completion is appended. All partitions are in this process, so the three usually happen in one go,
before the client has its answer. Where a topic's flush settings make it wait for the disk, or a disk fails, the
transaction stays prepared meanwhile; one that is found prepared after a restart goes on in ``completing``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.groups.placement import partition_for
from pykbroker.metadata.features import TRANSACTION_VERSION
from pykbroker.metadata.image import NO_LEADER
from pykbroker.metadata.names import TRANSACTION_STATE
from pykbroker.transactions import adding, ending, initializing
from pykbroker.transactions.completing import Completion
from pykbroker.transactions.initializing import Expected
from pykbroker.transactions.loading import Loading
from pykbroker.transactions.records import encode, encode_key
from pykbroker.transactions.settings import TransactionSettings
from pykbroker.transactions.shard import TransactionShard
from pykbroker.transactions.transaction import PREPARED, TopicPartition, Transaction
from pykbroker.waits import Deferred
from wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.broker import Broker
    from pykbroker.cluster import Cluster
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.partition import Partition

log = logging.getLogger(__name__)

#: While partitions are read at the start, how long until the next look whether one has come.
_READING_PAUSE_MS = 20
#: What a client is told when a record cannot be appended or read for this reason (TransactionStateManager).
_SHOWN_AS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


class ProducerIdentity(NamedTuple):
    """What a producer signs its batches with."""

    producer_id: int
    epoch: int


class _Loaded:
    """A shard with its partition."""

    __slots__ = ("partition", "shard")

    def __init__(self, partition: Partition, shard: TransactionShard) -> None:
        self.partition = partition
        self.shard = shard


class TransactionCoordinator:
    """See the module. A broker of None stands for this process itself, which may ask any shard."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._settings = TransactionSettings.from_config(cluster.config)
        self._loaded: dict[int, _Loaded] = {}
        #: Partitions that a thread reads, so that the loop can replay them without waiting for the disk.
        self._reading: dict[int, Deferred[None]] = {}
        self._loading: dict[int, Loading] = {}
        cluster.metadata.subscribe(self._follow)
        self._every(self._settings.abort_interval_ms, self._abort_timed_out)
        self._every(self._settings.expiration_interval_ms, self._expire)

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
        if self._is_loading(index):
            self._cluster.timers.after(_READING_PAUSE_MS, partial(self.load, index))
        else:
            self._cluster.timers.after(0, partial(self.load, index + 1))

    def _load_moved(self, index: int) -> None:
        """The new leader of a partition reads it at once: what is open in it needs somebody who ends it in time."""
        if self._is_loading(index):
            self._cluster.timers.after(_READING_PAUSE_MS, partial(self._load_moved, index))

    def _is_loading(self, index: int) -> bool:
        """Load a shard, or find that a thread must read it first."""
        try:
            self._shard_at(None, index)
        except KafkaError as error:  # logged already; the next request tries again
            return error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return False

    def _shard_of(self, broker: Broker | None, transactional_id: str) -> _Loaded:
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        return self._shard_at(broker, self.partition_of(transactional_id))

    def _shard_at(self, broker: Broker | None, index: int) -> _Loaded:
        partition = self._cluster.partition(TRANSACTION_STATE, index)
        if partition is None or partition.leader == NO_LEADER:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if broker is not None and partition.leader != broker.node_id:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return self._loaded.get(index) or self._load(partition)

    def _load(self, partition: Partition) -> _Loaded:
        """The shard of a partition that is not loaded yet. Raises KafkaError, COORDINATOR_LOAD_IN_PROGRESS while a thread
        reads the partition from the disk, and while there are records to replay in later turns.
        """
        index = partition.index
        reading = self._reading.get(index)
        if reading is None:
            reading = self._reading[index] = self._cluster.dormant.bring_into_memory(partition)
        if reading.done and index not in self._loading:
            loading = self._loading[index] = Loading(partition, TransactionShard())
            self._load_some(loading)
        loaded = self._loaded.get(index)
        if loaded is None:
            in_progress = index in self._reading
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if in_progress else ErrorCode.NOT_COORDINATOR)
        return loaded

    def _load_some(self, loading: Loading) -> None:
        index = loading.partition.index
        if self._loading.get(index) is not loading:
            return  # the topic was deleted meanwhile
        try:
            done = loading.advance()
        except KafkaError as error:
            log.warning("The transactions of %r cannot be read: %s", loading.partition, error)
            del self._loading[index], self._reading[index]  # the next request tries again
            return
        if done:
            del self._loading[index], self._reading[index]
            self._finish_load(loading)
        else:
            self._cluster.timers.after(0, partial(self._load_some, loading))

    def _finish_load(self, loading: Loading) -> None:
        partition, shard = loading.partition, loading.shard
        loaded = self._loaded[partition.index] = _Loaded(partition, shard)
        for transaction in list(shard.prepared()):
            self._complete(loaded, transaction)
        if shard.transactions:
            log.info("Loaded %d transactional ids of %s-%d", len(shard.transactions), partition.topic, partition.index)

    def _follow(self, _image: MetadataImage, delta: MetadataDelta) -> None:
        for change in delta.partitions:
            if change.moves_state_of(TRANSACTION_STATE):
                self._loaded.pop(change.after.index, None)
                if change.after.leader != NO_LEADER:
                    self._cluster.timers.after(0, partial(self._load_moved, change.after.index))
        if any(topic.name == TRANSACTION_STATE for topic in delta.deleted_topics):
            self._loaded.clear()
            self._loading.clear()
            self._reading.clear()

    # Requests

    def init_producer_id(
        self, broker: Broker, transactional_id: str, timeout_ms: int, expected: Expected | None
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
            now_ms=self._cluster.clock.now_ms(),
        )
        if changed.state in PREPARED:
            return self._end(loaded, changed).map(_try_again)
        return self._change(loaded, changed).map(lambda _: _identity(changed))

    def add_partitions(
        self,
        broker: Broker | None,
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
            now_ms=self._cluster.clock.now_ms(),
        )
        return self._durable(loaded) if changed is transaction else self._change(loaded, changed)

    def verify_partitions(
        self,
        broker: Broker | None,
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
        broker: Broker,
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
            now_ms=self._cluster.clock.now_ms(),
        )
        if changed is transaction:
            return Deferred.completed(_identity(changed))
        # The epochs of the identity may be used up: then the client goes on with the one that the completion brings.
        following = changed.completed(changed.updated_ms)
        return self._end(loaded, changed).map(lambda _: _identity(following))

    def transaction(self, broker: Broker, transactional_id: str) -> Transaction | None:
        """A transactional id's value. Raises KafkaError with INVALID_REQUEST or NOT_COORDINATOR."""
        return self._shard_of(broker, transactional_id).shard.transactions.get(transactional_id)

    def transactions(self, broker: Broker) -> Iterator[Transaction]:
        """All transactional ids that the broker coordinates."""
        topic = self._cluster.metadata.image.topic(TRANSACTION_STATE)
        for index in range(0 if topic is None else len(topic.partitions)):
            partition = self._cluster.partition(TRANSACTION_STATE, index)
            if partition is not None and partition.leader == broker.node_id:
                yield from self._shard_at(broker, index).shard.transactions.values()

    # Steps

    @property
    def _server_version(self) -> int:
        return self._cluster.metadata.image.features.get(TRANSACTION_VERSION, 0)

    def _change(self, loaded: _Loaded, changed: Transaction) -> Deferred[None]:
        """Append and replay; completes when it will not be lost. Raises KafkaError as clients are to see it."""
        if self._loaded.get(loaded.partition.index) is not loaded:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)  # the partition moved while this waited
        try:
            record = encode(changed, self._server_version)
            loaded.partition.append_internal([record], self._cluster.clock.now_ms())
        except KafkaError as error:
            log.warning("A transaction could not be appended to %r: %s", loaded.partition, error)
            raise _shown(error) from error
        loaded.shard.replay(changed.transactional_id, changed)
        return self._durable(loaded)

    def _durable(self, loaded: _Loaded) -> Deferred[None]:
        """Completes when what was appended to the partition is as safe as its flush settings ask for."""
        if loaded.partition.log.needs_flush_before_ack:
            return self._cluster.group_commit.synced(loaded.partition)
        return Deferred.completed(None)

    def _end(self, loaded: _Loaded, prepared: Transaction) -> Deferred[None]:
        """Append the decision; completes when it is safe, and the markers are on their way or written already."""
        decided: Deferred[None] = Deferred()

        def decide(durable: Deferred[None]) -> None:
            try:
                _ = durable.value
            except KafkaError:
                decided.fail(KafkaError(ErrorCode.NOT_COORDINATOR))
                return
            self._complete(loaded, prepared)
            decided.complete(None)

        self._change(loaded, prepared).then(decide)
        return decided

    def _complete(self, loaded: _Loaded, prepared: Transaction) -> None:
        Completion(
            self._cluster,
            prepared,
            coordinator=loaded.partition,
            retry_ms=self._settings.marker_retry_ms,
            wanted=lambda: self._loaded.get(loaded.partition.index) is loaded,
            finished=lambda: self._completed(loaded, prepared),
        ).run()

    def _completed(self, loaded: _Loaded, prepared: Transaction) -> None:
        self._change(loaded, prepared.completed(self._cluster.clock.now_ms()))

    # Time

    def _every(self, interval_ms: int, work: Callable[[], None]) -> None:
        def run() -> None:
            self._cluster.timers.after(interval_ms, run)
            work()

        self._cluster.timers.after(interval_ms, run)

    def _abort_timed_out(self) -> None:
        now_ms = self._cluster.clock.now_ms()
        for loaded in list(self._loaded.values()):
            for transaction in list(loaded.shard.timed_out(now_ms)):
                try:
                    self._end(
                        loaded,
                        ending.abort_ongoing(
                            transaction, self._server_version, partial(self._new_producer_id, loaded), now_ms
                        ),
                    )
                except KafkaError as error:
                    log.warning("%s is late and could not be aborted: %s", transaction.transactional_id, error)
                else:
                    log.info("Aborted a transaction of %s that took too long", transaction.transactional_id)

    def _new_producer_id(self, loaded: _Loaded) -> int:
        return self._cluster.brokers[loaded.partition.leader].next_producer_id()

    def _expire(self) -> None:
        now_ms = self._cluster.clock.now_ms()
        for loaded in list(self._loaded.values()):
            expired = [each.transactional_id for each in loaded.shard.expired(now_ms, self._settings.expiration_ms)]
            if not expired:
                continue
            try:
                loaded.partition.append_internal([(encode_key(each), None) for each in expired], now_ms)
            except KafkaError as error:
                log.warning("%d expired transactional ids could not be removed: %s", len(expired), error)
                continue
            for each in expired:
                loaded.shard.replay(each, None)


def _shown(error: KafkaError) -> KafkaError:
    return KafkaError(_SHOWN_AS.get(error.code, error.code))


def _identity(transaction: Transaction) -> ProducerIdentity:
    return ProducerIdentity(transaction.producer_id, transaction.producer_epoch)


def _try_again(_: None) -> ProducerIdentity:
    raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
