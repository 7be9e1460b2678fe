"""Finds hanging transactions: open in a partition, but unknown to their coordinator, so that they never end."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from pykbroker.client.client import Client
from pykbroker.client.offsets import TopicPartition
from pykbroker.client.replica_state import read_replicas
from pykbroker.client.transaction_state import active_producers, described_transaction, listed_transactions
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_producers import ProducerState
from pykbroker.wire.messages.list_transactions import ListTransactionsRequest

_NOT_OPEN = -1
Open = tuple[TopicPartition, ProducerState]


def find_hanging(
    client: Client, *, topic: str | None, partition: int | None, broker: int | None, before_ms: int
) -> list[Open]:
    """Return those whose producers wrote nothing since ``before_ms``, in the partitions given."""
    wanted = _partitions(client, topic, partition, broker)
    candidates = [
        (where, each)
        for where in wanted
        for each in client.retrying(partial(active_producers, client, where, broker))
        if each.current_txn_start_offset != _NOT_OPEN and each.last_timestamp < before_ms
    ]
    expected = _expected(client, {each.producer_id for _, each in candidates})
    return [(where, each) for where, each in candidates if where not in expected.get(each.producer_id, ())]


def _partitions(client: Client, topic: str | None, partition: int | None, broker: int | None) -> list[TopicPartition]:
    if topic is not None and partition is not None:
        return [TopicPartition(topic, partition)]
    names = [topic] if topic is not None else [each.name or "" for each in client.metadata(None).topics]
    return sorted(
        TopicPartition(name, number)
        for name, there in read_replicas(client, names).items()
        for number, replicas in there.items()
        if broker is None or broker in replicas.replicas
    )


def _expected(client: Client, producers: Iterable[int]) -> dict[int, set[TopicPartition]]:
    """Return the partitions in which a coordinator will end the transaction of each producer that it knows."""
    request = ListTransactionsRequest(producer_id_filters=list(producers))
    if not request.producer_id_filters:
        return {}
    return {
        each.producer_id: _partitions_in(client, each.transactional_id)
        for node in client.node_ids()
        for each in client.retrying(partial(listed_transactions, client.node(node), request))
    }


def _partitions_in(client: Client, transactional_id: str) -> set[TopicPartition]:
    try:
        found = described_transaction(client, transactional_id)
    except KafkaError as error:
        if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise
        return set()
    return {TopicPartition(topic.topic, index) for topic in found.topics for index in topic.partitions}
