"""The ports to leaders and to transaction coordinators in other processes: WriteTxnMarkers, and AddPartitionsToTxn as brokers send it (KIP-890).

What is in this process is asked by the local ports. A question that fails is not repeated here: a completion writes its markers again, and
a producer sends its batch again.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.coordinators import TRANSACTIONS
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from pykbroker.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.replica_fetcher import Peers
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.coordination.host import MarkerPort, TransactionPort
    from pykbroker.coordination.transactions.transaction import TopicPartition
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.runtime.waits import WakeQueue
    from pykbroker.wire.control_records import EndTxnMarker
    from pykbroker.wire.message import Message

#: The lowest versions that say what is needed.
_MARKERS_SINCE, _ADDED_BY_BROKERS_SINCE = 1, 4

Waiting = tuple[WritableTxnMarker, "Deferred[None]"]


class RemoteMarkers:
    """The ``MarkerPort`` of broker ``node_id``. Markers of one turn for one leader go in one request, and one request at a time is on its way
    to each, so that a marker does not overtake an earlier one.
    """

    def __init__(
        self, local: MarkerPort, metadata: MetadataSource, node_id: int, peers: Peers, wake_queue: WakeQueue
    ) -> None:
        self._local = local
        self._metadata = metadata
        self._node_id = node_id
        self._peers = peers
        self._wake_queue = wake_queue
        self._waiting: dict[int, list[Waiting]] = {}
        #: The leaders that have a request to answer, or get one at the end of the turn.
        self._busy: set[int] = set()

    def write(
        self,
        where: TopicPartition,
        marker: EndTxnMarker,
        *,
        producer_id: int,
        producer_epoch: int,
        transaction_version: int,
    ) -> Deferred[None] | None:
        """See ``MarkerPort``."""
        known = self._metadata.image.partition(*where)
        if known is None or known.leader == self._node_id:
            return self._local.write(
                where,
                marker,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                transaction_version=transaction_version,
            )
        if known.leader < 0:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        topic, index = where
        written: Deferred[None] = Deferred()
        to_write = WritableTxnMarker(
            producer_id,
            producer_epoch,
            marker.commit,
            [WritableTxnMarkerTopic(topic, [index])],
            marker.coordinator_epoch,
            transaction_version,
        )
        self._waiting.setdefault(known.leader, []).append((to_write, written))
        self._send_later(known.leader)
        return written

    def _send_later(self, leader: int) -> None:
        if leader not in self._busy:
            self._busy.add(leader)
            self._wake_queue.add(partial(self._send, leader))

    def _send(self, leader: int) -> None:
        sent = self._waiting.pop(leader)
        asked = self._peers.ask(leader, WriteTxnMarkersRequest(_joined(sent)), _MARKERS_SINCE)
        asked.fold(partial(self._answered, leader, sent)).or_log("writing transaction markers at broker %d", leader)

    def _answered(self, leader: int, sent: list[Waiting], done: Deferred[Message]) -> None:
        self._busy.discard(leader)
        if leader in self._waiting:
            self._send_later(leader)
        codes: dict[tuple[int, str, int], int] = {}
        if done.error is None:
            assert isinstance(done.value, WriteTxnMarkersResponse)
            codes = {
                (marker.producer_id, topic.name, each.partition_index): each.error_code
                for marker in done.value.markers
                for topic in marker.topics
                for each in topic.partitions
            }
        for marker, written in sent:
            (topic,) = marker.topics
            code = codes.get((marker.producer_id, topic.name, topic.partition_indexes[0]))
            if code == ErrorCode.NONE:
                written.complete(None)
            else:
                lost = done.error or KafkaError(error_code(ErrorCode.UNKNOWN_SERVER_ERROR if code is None else code))
                written.fail(lost)


def _joined(sent: Iterable[Waiting]) -> list[WritableTxnMarker]:
    """The markers, those of one transaction as one."""
    joined: dict[tuple[int, int, bool, int, int], dict[str, list[int]]] = {}
    for marker, _ in sent:
        of, where = (marker.producer_id, marker.producer_epoch), (marker.coordinator_epoch, marker.transaction_version)
        topics = joined.setdefault((*of, marker.transaction_result, *where), {})
        for topic in marker.topics:
            topics.setdefault(topic.name, []).extend(topic.partition_indexes)
    return [
        WritableTxnMarker(
            producer_id,
            producer_epoch,
            committed,
            [WritableTxnMarkerTopic(name, indexes) for name, indexes in topics.items()],
            coordinator_epoch,
            version,
        )
        for (producer_id, producer_epoch, committed, coordinator_epoch, version), topics in joined.items()
    ]


class RemoteTransactions:
    """The ``TransactionPort`` of broker ``node_id``."""

    def __init__(
        self, local: TransactionPort, metadata: MetadataSource, node_id: int, peers: Peers, config: BrokerConfig
    ) -> None:
        self._local = local
        self._metadata = metadata
        self._node_id = node_id
        self._peers = peers
        self._config = config

    def verify(
        self, transactional_id: str, producer: tuple[int, int], partitions: Iterable[TopicPartition]
    ) -> Deferred[dict[TopicPartition, ErrorCode]]:
        """See ``TransactionPort``."""
        leader = self._leader(transactional_id)
        if leader == self._node_id:
            return self._local.verify(transactional_id, producer, partitions)
        return self._ask(leader, _transaction(transactional_id, producer, partitions, verify_only=True))

    def add(
        self, transactional_id: str, producer: tuple[int, int], partitions: Iterable[TopicPartition]
    ) -> Deferred[None]:
        """See ``TransactionPort``."""
        leader = self._leader(transactional_id)
        if leader == self._node_id:
            return self._local.add(transactional_id, producer, partitions)
        return self._ask(leader, _transaction(transactional_id, producer, partitions, verify_only=False)).map(_whole)

    def _leader(self, transactional_id: str) -> int:
        """The broker whose coordinator has this id. Raises KafkaError NOT_COORDINATOR, or INVALID_REQUEST for no id."""
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        image = self._metadata.image
        index = TRANSACTIONS.partition_of(transactional_id, image, self._config)
        known = image.partition(TRANSACTIONS.topic, index)
        if known is None or known.leader < 0:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return known.leader

    def _ask(
        self, leader: int, transaction: AddPartitionsToTxnTransaction
    ) -> Deferred[dict[TopicPartition, ErrorCode]]:
        request = AddPartitionsToTxnRequest(transactions=[transaction])
        partitions = [(topic.name, index) for topic in transaction.topics for index in topic.partitions]
        return self._peers.ask(leader, request, _ADDED_BY_BROKERS_SINCE).map(partial(_codes, partitions))


def _transaction(
    transactional_id: str, producer: tuple[int, int], partitions: Iterable[TopicPartition], *, verify_only: bool
) -> AddPartitionsToTxnTransaction:
    topics: dict[str, AddPartitionsToTxnTopic] = {}
    for name, index in partitions:
        topics.setdefault(name, AddPartitionsToTxnTopic(name, [])).partitions.append(index)
    return AddPartitionsToTxnTransaction(transactional_id, *producer, verify_only, list(topics.values()))


def _codes(partitions: Iterable[TopicPartition], response: Message) -> dict[TopicPartition, ErrorCode]:
    """The error code of each partition; UNKNOWN_SERVER_ERROR of one that the answer leaves out. Raises KafkaError with the code of the whole request,
    if it has one, as CLUSTER_AUTHORIZATION_FAILED.
    """
    assert isinstance(response, AddPartitionsToTxnResponse)
    if response.error_code:
        raise KafkaError(error_code(response.error_code))
    found = {
        (topic.name, each.partition_index): error_code(each.partition_error_code)
        for transaction in response.results_by_transaction
        for topic in transaction.topic_results
        for each in topic.results_by_partition
    }
    return {each: found.get(each, ErrorCode.UNKNOWN_SERVER_ERROR) for each in partitions}


def _whole(codes: dict[TopicPartition, ErrorCode]) -> None:
    """Raises KafkaError with what kept the partitions from being added, all or none: UNKNOWN_TOPIC_OR_PARTITION, or what ``add`` says."""
    refused = [code for code in codes.values() if code]
    if refused:
        causes = [code for code in refused if code is not ErrorCode.OPERATION_NOT_ATTEMPTED]
        raise KafkaError((causes or refused)[0])
