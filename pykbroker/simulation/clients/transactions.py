"""The client's side of transactions, both generations of the protocol (KIP-98, and KIP-890's second part)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pykbroker.simulation.clients.client import (
    COORDINATOR_ERRORS,
    GROUP,
    RETRY_MS,
    TRANSACTION,
    RequestRefused,
    SimulatedClient,
    TopicPartition,
)
from pykbroker.simulation.clients.writing import ADDING_PRODUCE, PLAIN_PRODUCE, Writer
from pykbroker.simulation.network import Disconnected
from pykbroker.simulation.process import Steps
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pykbroker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pykbroker.wire.messages.end_txn import EndTxnRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pykbroker.simulation.history import SentTransaction
    from pykbroker.wire.message import Message

_RETRIED = COORDINATOR_ERRORS | {ErrorCode.CONCURRENT_TRANSACTIONS}
_FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})


class ConsumerGroupMetadata(NamedTuple):
    """Who a consumer is in its group."""

    group: str
    generation: int
    member_id: str
    instance_id: str | None


class TransactionIncarnation:
    """One incarnation of a transactional producer; ``protocol`` is 1 or 2. Every method raises RequestRefused.

    After an error the transaction can only be aborted; after one at its end nothing is left but a new incarnation.
    """

    def __init__(self, client: SimulatedClient, transactional_id: str, protocol: int, timeout_ms: int) -> None:
        self._client = client
        self._id = transactional_id
        self._protocol = protocol
        self._timeout_ms = timeout_ms
        self._writer = Writer(client, -1, -1, transactional_id)
        self._added: set[TopicPartition | str] = set()
        self._current: SentTransaction | None = None

    def start(self, *, recover: bool = False) -> Steps[None]:
        """Fence whoever has the transactional id; or, to ``recover``, go on with the next epoch (KIP-360)."""
        expected = (self._writer.producer_id, self._writer.epoch) if recover else (-1, -1)
        request = InitProducerIdRequest(self._id, self._timeout_ms, *expected)
        answer = yield from self._ask(request, 4, lambda answer: answer.error_code)
        self._follow(answer.producer_id, answer.producer_epoch)

    def _follow(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self._writer.producer_id, self._writer.epoch):
            self._writer = Writer(self._client, producer_id, epoch, self._id)

    def begin(self) -> None:
        """Everything from here to ``end`` is one transaction."""
        self._added.clear()
        self._current = self._client.history.begin(self._id, self._client.world.now_ms)

    @property
    def _sent(self) -> SentTransaction:
        assert self._current is not None, "no transaction has begun"
        return self._current

    def send(self, where: TopicPartition, values: list[bytes]) -> Steps[None]:
        """Write a batch in the transaction."""
        self._sent.sending(where, values)
        if self._protocol < 2 and where not in self._added:
            request = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self._id,
                v3_and_below_producer_id=self._writer.producer_id,
                v3_and_below_producer_epoch=self._writer.epoch,
                v3_and_below_topics=[AddPartitionsToTxnTopic(where[0], [where[1]])],
            )
            yield from self._ask(
                request,
                3,
                lambda answer: answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code,
            )
            self._added.add(where)
        version = PLAIN_PRODUCE if self._protocol < 2 else ADDING_PRODUCE
        offset = yield from self._writer.write(where, values, version)
        self._sent.acknowledged(values, offset)

    def commit_offsets(self, membership: ConsumerGroupMetadata, offsets: dict[TopicPartition, int]) -> Steps[None]:
        """Commit what was consumed in the transaction."""
        identity = (self._writer.producer_id, self._writer.epoch)
        if self._protocol < 2 and membership.group not in self._added:
            adding = AddOffsetsToTxnRequest(self._id, *identity, membership.group)
            yield from self._ask(adding, 3, lambda answer: answer.error_code)
            self._added.add(membership.group)
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for (topic, index), offset in offsets.items():
            topics.setdefault(topic, []).append(TxnOffsetCommitRequestPartition(index, offset))
        request = TxnOffsetCommitRequest(
            self._id,
            membership.group,
            *identity,
            membership.generation,
            membership.member_id,
            membership.instance_id,
            [TxnOffsetCommitRequestTopic(topic, partitions=found) for topic, found in topics.items()],
        )
        yield from self._ask(
            request,
            3 if self._protocol < 2 else 5,
            lambda answer: max(each.error_code for topic in answer.topics for each in topic.partitions),
            group=membership.group,
        )

    def end(self, *, commit: bool) -> Steps[None]:
        """Commit or abort. The outcome is in the history; it may be unknown, where answers were lost."""
        sent = self._sent
        request = EndTxnRequest(self._id, self._writer.producer_id, self._writer.epoch, commit)
        sent.ending(commit=commit)
        try:
            answer = yield from self._ask(
                request, 3 if self._protocol < 2 else 5, lambda answer: answer.error_code, lost=sent.answer_lost
            )
        except RequestRefused:
            sent.refused()
            raise
        sent.ended()
        if self._protocol >= 2:
            self._follow(answer.producer_id, answer.producer_epoch)

    def _ask(
        self,
        request: Message,
        version: int,
        code: Callable[[Any], int],
        *,
        group: str | None = None,
        lost: Callable[[], None] | None = None,
    ) -> Steps[Any]:
        """The good answer of the coordinator (a group's where one is named), however often it must be asked."""
        kind, key = (TRANSACTION, self._id) if group is None else (GROUP, group)
        while True:
            try:
                answer = yield from self._client.ask_coordinator(kind, key, request, version)
            except Disconnected:
                if lost is not None:
                    lost()
                yield from self._client.pause(RETRY_MS)
                continue
            found = code(answer)
            if found == ErrorCode.NONE:
                return answer
            if found not in _RETRIED:
                if found in _FENCED:
                    self._client.history.count("fenced producer")
                raise RequestRefused(type(request).__name__, found)
            if found in COORDINATOR_ERRORS:
                self._client.forget_coordinator(kind, key)
            yield from self._client.pause(RETRY_MS)
