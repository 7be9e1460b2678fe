"""Transactions as coordinators describe them, and active producers as leaders describe them."""

from __future__ import annotations

from pykbroker.client.client import TRANSACTION, Client
from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import ClientError, UsageError, raise_for, refusal
from pykbroker.client.offsets import TopicPartition
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages import list_transactions as listing
from pykbroker.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from pykbroker.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)

_DURATION_SINCE, _PATTERN_SINCE = 1, 2  # of ListTransactions
ANY_DURATION = -1


def listed_transactions(
    connection: BrokerConnection, request: listing.ListTransactionsRequest
) -> list[listing.TransactionState]:
    """List the transactions that this broker coordinates.

    Raises ClientError, and the KafkaError of the response if it is retriable.
    """
    version = connection.version(request.API_KEY)
    if request.duration_filter != ANY_DURATION and version < _DURATION_SINCE:
        raise ClientError(
            f"The broker at {connection.address} cannot filter transactions by their duration: it needs ListTransactions 1."
        )
    if request.transactional_id_pattern is not None and version < _PATTERN_SINCE:
        raise ClientError(
            f"The broker at {connection.address} cannot filter transactional ids by a pattern: it needs ListTransactions 2."
        )
    answer = connection.call(request, listing.ListTransactionsResponse)
    try:
        raise_for(answer.error_code)
    except KafkaError as error:
        if error.code.retriable:
            raise
        raise ClientError(refusal("Transactions", error)) from error
    if answer.unknown_state_filters:
        raise UsageError(f"The broker knows no state {', '.join(answer.unknown_state_filters)} of a transaction.")
    return answer.transaction_states


def described_transaction(client: Client, name: str) -> TransactionState:
    """Describe a transaction by its coordinator. Raises the KafkaError of the response."""

    def ask() -> TransactionState:
        connection = client.coordinator(name, TRANSACTION)
        request = DescribeTransactionsRequest(transactional_ids=[name])
        (found,) = connection.call(request, DescribeTransactionsResponse).transaction_states
        raise_for(found.error_code)
        return found

    return client.retrying(ask)


def active_producers(client: Client, partition: TopicPartition, node: int | None = None) -> list[ProducerState]:
    """Return the active producers on the leader of a partition (or on replica ``node``), by producer id.

    Raises the KafkaError of the response.
    """
    wanted = TopicRequest(name=partition.topic, partition_indexes=[partition.number])
    connection = client.leader(*partition) if node is None else client.named_node(node)
    answer = connection.call(DescribeProducersRequest(topics=[wanted]), DescribeProducersResponse)
    ((found,),) = (topic.partitions for topic in answer.topics)
    raise_for(found.error_code, found.error_message)
    return sorted(found.active_producers, key=lambda producer: producer.producer_id)
