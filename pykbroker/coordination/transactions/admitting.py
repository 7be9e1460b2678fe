"""Whether batches of a transaction may be written to their partitions (KIP-890).

A batch whose transaction never ends (a hanging transaction) blocks readers with read_committed for good. So the first batch
in a partition is appended only once the coordinator has verified that the partition is in the transaction (transaction
version 1) or has added it (version 2). Later batches are admitted by the open transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.coordination.transactions.transaction import TopicPartition
    from pykbroker.partitions.partition import Partition


class Refusal(NamedTuple):
    """An error as clients of a dialect see it."""

    code: ErrorCode
    message: str | None = None


Refusals = dict["TopicPartition", Refusal]

#: Retriable errors of the verification. Old clients retry only for an error that they know, and this one does not make them
#: look for another leader.
_NOT_NOW = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NETWORK_EXCEPTION,
)


_ENDED = Refusal(ErrorCode.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")


class Dialect(NamedTuple):
    """The features of KIP-890 that the client's version of a request has."""

    #: Partitions are added when their first batch arrives.
    adds: bool
    #: The client knows TRANSACTION_ABORTABLE.
    knows_abortable: bool


def admit(
    host: CoordinationHost,
    transactional_id: str,
    producer: tuple[int, int],
    partitions: Sequence[Partition],
    dialect: Dialect,
) -> Deferred[Refusals]:
    """The partitions to which ``producer`` (id and epoch) may not write in its transaction, with the errors.

    Raises KafkaError KAFKA_STORAGE_ERROR if a partition's log cannot be opened.
    """
    requested = [
        (each.topic, each.index) for each in partitions if not each.log.has_open_transaction(producer[0], producer[1])
    ]
    if not requested or not (dialect.adds or host.config["transaction.partition.verification.enable"]):
        return Deferred.completed({})

    def refused(error: KafkaError) -> Refusals:
        return dict.fromkeys(requested, _refusal_of(error.code, dialect))

    none_refused: Refusals = {}
    if dialect.adds:
        added = attempt(host.transaction_port.add, transactional_id, producer, requested)
        answer = added.map(lambda _: none_refused)
    else:
        codes = attempt(host.transaction_port.verify, transactional_id, producer, requested)
        answer = codes.map(lambda found: {each: _refusal_of(code, dialect) for each, code in found.items() if code})
    answer = answer.recover(KafkaError, refused)
    return answer if answer.done else _guarded(answer, partitions, producer)


def _guarded(
    answer: Deferred[Refusals], partitions: Sequence[Partition], producer: tuple[int, int]
) -> Deferred[Refusals]:
    """The answer, unless a marker has come to a partition meanwhile, which ends the transaction that it is about."""
    producer_id, epoch = producer
    guards = {each: each.log.guard(producer_id) for each in partitions}

    def check(refusals: Refusals) -> Refusals:
        late = [
            (each.topic, each.index)
            for each, guard in guards.items()
            if not each.log.unguard(producer_id, guard) and not each.log.has_open_transaction(producer_id, epoch)
        ]
        return dict.fromkeys(late, _ENDED) | refusals

    return answer.map(check)


def _refusal_of(code: ErrorCode, dialect: Dialect) -> Refusal:
    if code is ErrorCode.PRODUCER_FENCED:
        return Refusal(ErrorCode.INVALID_PRODUCER_EPOCH)
    if code is ErrorCode.TRANSACTION_ABORTABLE and not dialect.knows_abortable:
        return Refusal(ErrorCode.INVALID_TXN_STATE, "Partition was not added to the transaction")
    if code in _NOT_NOW or (code is ErrorCode.CONCURRENT_TRANSACTIONS and not dialect.adds):
        return Refusal(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"Unable to verify the partition has been added to the transaction. Underlying error: {code.name}",
        )
    return Refusal(code)
