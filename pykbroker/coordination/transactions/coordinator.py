"""A broker's transaction coordinator: requests of clients and brokers, timeouts and expiry.

It has one shard per partition of ``__transaction_state`` that the broker leads. Pure functions decide each step
(``initializing``, ``adding``, ``ending``); it takes effect once the runtime has appended it (``coordination/runtime.py``).

A transaction ends in three steps: the decision (PREPARE_COMMIT or PREPARE_ABORT) is appended, a marker is written to every
partition, the completion is appended. They usually happen in one turn, before the client has its answer. While a topic's
flush settings require a sync, or a disk fails, the transaction stays prepared; one found prepared after a restart is completed
by ``completing``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pykbroker.coordination.outcome import Decision, Outcome, Part
from pykbroker.coordination.runtime import CoordinatorRuntime
from pykbroker.coordination.transactions import adding, ending, initializing, records
from pykbroker.coordination.transactions.completing import WRITTEN_AT_ONCE, Completion
from pykbroker.coordination.transactions.initializing import Expected
from pykbroker.coordination.transactions.settings import TransactionSettings
from pykbroker.coordination.transactions.shard import TransactionShard
from pykbroker.coordination.transactions.transaction import PREPARED, TopicPartition, Transaction
from pykbroker.metadata.features import TRANSACTION_VERSION
from pykbroker.metadata.names import TRANSACTION_STATE
from pykbroker.runtime.slices import independently
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.coordination.shards import Loaded
    from pykbroker.runtime.slices import Steps, Work

log = logging.getLogger(__name__)

T = TypeVar("T")

#: The weight of an abort (and half of it for each marker), and of examining an id with nothing due (``runtime/slices.py``).
_ABORT_WEIGHT = 16
_LOOK_WEIGHT = 0.02


class ProducerIdentity(NamedTuple):
    """The producer id and epoch of a producer's batches."""

    producer_id: int
    epoch: int


class TransactionCoordinator:
    """See the module."""

    def __init__(self, host: CoordinationHost) -> None:
        self._host = host
        self._settings = TransactionSettings.from_config(host.config)
        self._runtime = CoordinatorRuntime(
            host,
            TRANSACTION_STATE,
            self._settings.partitions,
            codec=records,
            new_shard=TransactionShard,
            opened=self._opened,
            effects=self._complete,
        )
        self.shards = self._runtime.shards
        self.partition_of = self._runtime.partition_of
        self.load_all = self._runtime.load_all
        self.follow = self._runtime.follow
        every = host.runtime.slices.every
        self._rounds = (
            every(self._settings.abort_interval_ms, self._abort_timed_out),
            every(self._settings.expiration_interval_ms, self._expire),
        )

    def close(self) -> None:
        """The broker has stopped."""
        for stop in self._rounds:
            stop()
        self._runtime.close()

    def _opened(self, loaded: Loaded[TransactionShard]) -> None:
        self.shards.tell_loaded(loaded.partition, "transactional id", len(loaded.shard.transactions))

    # Requests

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: Expected | None
    ) -> ProducerIdentity | Deferred[ProducerIdentity]:
        """The producer id and new epoch of a transactional producer.

        Raises, or fails with, KafkaError: INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, NOT_COORDINATOR,
        CONCURRENT_TRANSACTIONS or PRODUCER_FENCED.
        """
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if not 0 < timeout_ms <= self._settings.max_timeout_ms:
            raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)

        def step(transaction: Transaction | None) -> Decision[ProducerIdentity]:
            if transaction is None:
                transaction = Transaction(
                    transactional_id=transactional_id, producer_id=self._host.next_producer_id(), timeout_ms=timeout_ms
                )
            changed = initializing.init_producer_id(
                transaction,
                expected,
                timeout_ms,
                server_version=self._server_version,
                new_producer_id=self._host.next_producer_id,
                now_ms=self._host.runtime.clock.now_ms(),
            )
            if changed.state in PREPARED:
                refused: Deferred[ProducerIdentity] = Deferred()
                refusal = KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
                return Decision(refused, self._change(changed, (refused, refusal)))
            return Decision(_identity(changed), self._change(changed))

        return self._ask(transactional_id, step)

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
        *,
        client_version: int,
    ) -> Deferred[None] | None:
        """Completes when the partitions are part of the transaction, None if they are. Raises or fails with what
        ``adding.add_partitions`` and ``_ask`` raise.
        """

        def step(transaction: Transaction | None) -> Decision[None] | None:
            changed = adding.add_partitions(
                transaction,
                producer_id,
                producer_epoch,
                frozenset(partitions),
                client_version=client_version,
                now_ms=self._host.runtime.clock.now_ms(),
            )
            return None if changed is transaction else Decision(None, self._change(changed))

        return self._ask(transactional_id, step)

    def verify_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
    ) -> dict[TopicPartition, ErrorCode] | Deferred[dict[TopicPartition, ErrorCode]]:
        """Which partitions are part of the transaction. Raises or fails with what ``adding.verify_partitions`` and ``_ask``
        raise.
        """
        return self._ask(
            transactional_id,
            lambda transaction: adding.verify_partitions(transaction, producer_id, producer_epoch, partitions),
        )

    def end(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        *,
        commit: bool,
        client_version: int,
    ) -> ProducerIdentity | Deferred[ProducerIdentity]:
        """Commit or abort; returns the producer id and epoch to use next. Raises or fails with what ``end_transaction`` and
        ``_ask`` raise.
        """

        def step(transaction: Transaction | None) -> ProducerIdentity | Decision[ProducerIdentity]:
            changed = ending.end_transaction(
                transaction,
                producer_id,
                producer_epoch,
                commit=commit,
                client_version=client_version,
                new_producer_id=self._host.next_producer_id,
                now_ms=self._host.runtime.clock.now_ms(),
            )
            if changed is transaction:
                return _identity(changed)
            # If the epochs are exhausted, the client continues with the producer id of the completion.
            return Decision(_identity(changed.completed(changed.updated_ms)), self._change(changed))

        return self._ask(transactional_id, step)

    def transaction(self, transactional_id: str) -> Transaction | Deferred[Transaction | None] | None:
        """A transactional id's value. Raises KafkaError with INVALID_REQUEST or NOT_COORDINATOR."""
        return self._ask(transactional_id, lambda transaction: transaction)

    def describe_all(self, described: Callable[[Transaction], T | None], weight: float) -> Work[list[T]]:
        """The results of ``described`` for all transactional ids that the broker coordinates, without None; as
        ``ask_each``.
        """

        def question(shard: TransactionShard, transactional_id: str) -> T | None:
            transaction = shard.transactions.get(transactional_id)
            return None if transaction is None else described(transaction)

        return self._runtime.ask_each(question, weight)

    # Steps

    @property
    def _server_version(self) -> int:
        return self._host.metadata.image.features.get(TRANSACTION_VERSION, 0)

    def _ask(self, transactional_id: str, step: Callable[[Transaction | None], T | Decision[T]]) -> T | Deferred[T]:
        """Take a step on the value of a transactional id, None if it is unknown. Raises KafkaError INVALID_REQUEST for an
        empty id, and what ``CoordinatorRuntime.ask`` raises.
        """
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        requested: T | Deferred[T] = self._runtime.ask(
            transactional_id, lambda shard: step(shard.transactions.get(transactional_id))
        )
        return requested

    def _change(self, changed: Transaction, *replies: tuple[Deferred[T], T | KafkaError]) -> Outcome:
        """The outcome of a transactional id's next value; if that decides a transaction, the effect is to write its markers."""
        return Outcome(
            [records.record(changed, self._server_version)],
            list(replies),
            effects=[changed] if changed.state in PREPARED else [],
        )

    def _complete(self, loaded: Loaded[TransactionShard], prepared: Transaction) -> None:
        Completion(
            self._host.runtime,
            self._host.marker_port,
            prepared,
            coordinator=loaded.partition,
            retry_ms=self._settings.marker_retry_ms,
            wanted=lambda: self.shards.is_in_use(loaded),
            finished=lambda: self._completed(loaded, prepared),
        ).run()

    def _completed(self, loaded: Loaded[TransactionShard], prepared: Transaction) -> bool:
        completed = prepared.completed(self._host.runtime.clock.now_ms())
        return self._runtime.append(loaded, self._change(completed)) is None

    # Time

    def _abort_timed_out(self) -> Steps:
        """Abort each transaction that has timed out, unless its producer ended it before its slice came."""
        now_ms = self._host.runtime.clock.now_ms()
        for loaded in list(self.shards.loaded.values()):
            late = list(loaded.shard.timed_out(now_ms))
            yield from independently(self._abort_late(loaded, each, now_ms) for each in late)
            yield _LOOK_WEIGHT * len(loaded.shard.transactions)

    def _abort_late(self, loaded: Loaded[TransactionShard], late: Transaction, now_ms: int) -> Steps:
        transaction = loaded.shard.transactions.get(late.transactional_id)
        if transaction is late and self.shards.is_in_use(loaded):
            self._abort(loaded, transaction, now_ms)
            yield _ABORT_WEIGHT * (1 + min(len(late.partitions), WRITTEN_AT_ONCE) / 2)

    def _abort(self, loaded: Loaded[TransactionShard], transaction: Transaction, now_ms: int) -> None:
        name = transaction.transactional_id
        try:
            aborted = ending.abort_ongoing(transaction, self._server_version, self._host.next_producer_id, now_ms)
        except KafkaError as error:
            log.warning("Transaction of %s timed out and cannot be aborted: %s", name, error)
            return
        outcome = self._change(aborted)
        outcome.then = partial(_tell, "Aborted the transaction of %s, which timed out", name)
        self._runtime.run(loaded, None, outcome)

    def _expire(self) -> Steps:
        shards = list(self.shards.loaded.values())
        return independently(self._runtime.append_parts(loaded, self._expired(loaded.shard)) for loaded in shards)

    def _expired(self, shard: TransactionShard) -> Iterator[Part]:
        """Tombstones of expired ids; what cannot be appended is retried in the next round."""
        now_ms, expiration_ms = self._host.runtime.clock.now_ms(), self._settings.expiration_ms
        expired = [each.transactional_id for each in shard.expired(now_ms, expiration_ms)]
        yield Part(weight=_LOOK_WEIGHT * len(shard.transactions))
        at_once = max(1, int(self._host.runtime.slices.weight_of_a_step))
        for begin in range(0, len(expired), at_once):
            some = expired[begin : begin + at_once]
            known = map(shard.transactions.get, some)
            still = [each for each in known if each and each.is_expired(now_ms, expiration_ms)]
            yield Part([records.tombstone(each.transactional_id) for each in still], len(some))


def _identity(transaction: Transaction) -> ProducerIdentity:
    return ProducerIdentity(transaction.producer_id, transaction.producer_epoch)


def _tell(what: str, name: str) -> Outcome:
    log.info(what, name)
    return Outcome()
