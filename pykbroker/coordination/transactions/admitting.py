"""Whether batches of a transaction may be written to their partitions (KIP-890).

A batch that nobody would ever end blocks its partition's readers for good. So the first batch in a partition is written
only when the coordinator knows that the partition is in the transaction (transaction version 1), or has just added it
(version 2, where producers do not ask themselves). Batches after the first are admitted by the open transaction.
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
    """An error as clients of a dialect are to see it; most speak for themselves."""

    code: ErrorCode
    message: str | None = None


Refusals = dict["TopicPartition", Refusal]

#: What says nothing about the transaction. Old clients repeat the request only for an error they know, and this is one
#: that does not make them look for another leader.
_NOT_NOW = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Dialect(NamedTuple):
    """What the client's version of a request understands."""

    #: Partitions are added as their first batch arrives.
    adds: bool
    #: TRANSACTION_ABORTABLE is known.
    knows_abortable: bool


def admit(
    cluster: CoordinationHost,
    transactional_id: str,
    producer: tuple[int, int],
    partitions: Sequence[Partition],
    dialect: Dialect,
) -> Deferred[Refusals]:
    """The partitions that ``producer`` (id and epoch) may not write to in its transaction, and why.

    Raises KafkaError with KAFKA_STORAGE_ERROR when a partition's log cannot be opened.
    """
    asked = [
        (each.topic, each.index) for each in partitions if not each.log.has_open_transaction(producer[0], producer[1])
    ]
    if not asked or not (dialect.adds or cluster.config["transaction.partition.verification.enable"]):
        return Deferred.completed({})

    def refused(error: KafkaError) -> Refusals:
        return dict.fromkeys(asked, _shown(error.code, dialect))

    nobody: Refusals = {}
    if dialect.adds:
        added = attempt(cluster.transactions.add, transactional_id, producer, asked)
        return added.map(lambda _: nobody).recover(KafkaError, refused)
    codes = attempt(cluster.transactions.verify, transactional_id, producer, asked)
    return codes.map(lambda found: {each: _shown(code, dialect) for each, code in found.items() if code}).recover(
        KafkaError, refused
    )


def _shown(code: ErrorCode, dialect: Dialect) -> Refusal:
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
