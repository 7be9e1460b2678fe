"""Transactions: beginning, adding, ending and looking at them."""

from __future__ import annotations

from compat_tests.authorization.cases import case
from compat_tests.authorization.signing import SignedAsk
from pykbroker.security.operations import ALTER, CLUSTER_ACTION, DESCRIBE, READ, WRITE
from pykbroker.security.resources import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pykbroker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.end_txn import EndTxnRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.list_transactions import ListTransactionsRequest
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from pykbroker.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)


def _begun(ask: SignedAsk, what: str = "id") -> tuple[str, int, int]:
    """A transactional id with its producer."""
    name = ask.name(what)
    answer = ask.until_ready(InitProducerIdRequest(name, 60_000), 4)
    return name, answer.producer_id, answer.producer_epoch


@case(
    ApiKey.ADD_PARTITIONS_TO_TXN,
    (TRANSACTIONAL_ID, "id", WRITE),
    (TOPIC, "t", WRITE),
    (TOPIC, "u", WRITE),
    versions=(0, 3),
)
def partitions_are_added(ask: SignedAsk) -> None:
    producer = _begun(ask)
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing")]
    topics = [AddPartitionsToTxnTopic(name, [0, 7]) for name in names]
    good = [AddPartitionsToTxnTopic(name, [0]) for name in names[:2]]
    for asked in (topics, good, good[:1], [AddPartitionsToTxnTopic("__consumer_offsets", [0]), *good]):
        ask(AddPartitionsToTxnRequest([], *producer, asked))


@case(ApiKey.ADD_PARTITIONS_TO_TXN, (CLUSTER, None, CLUSTER_ACTION), versions=(4, 5))
def a_broker_asks_for_partitions(ask: SignedAsk) -> None:
    producer = _begun(ask)
    topics = [AddPartitionsToTxnTopic(ask.topic("t"), [0])]
    ask(AddPartitionsToTxnRequest([AddPartitionsToTxnTransaction(*producer, True, topics)]))


@case(ApiKey.ADD_OFFSETS_TO_TXN, (TRANSACTIONAL_ID, "id", WRITE), (GROUP, "g", READ))
def offsets_are_added(ask: SignedAsk) -> None:
    ask(AddOffsetsToTxnRequest(*_begun(ask), ask.name("g")))


@case(ApiKey.END_TXN, (TRANSACTIONAL_ID, "id", WRITE), (TRANSACTIONAL_ID, "id", DESCRIBE))
def a_transaction_ends(ask: SignedAsk) -> None:
    ask(EndTxnRequest(ask.name("id"), 5, 0, True))


@case(
    ApiKey.TXN_OFFSET_COMMIT,
    (TRANSACTIONAL_ID, "id", WRITE),
    (GROUP, "g", READ),
    (TOPIC, "t", READ),
    versions=(0, 2, 3, 5, 6),
)
def offsets_are_committed_in_a_transaction(ask: SignedAsk) -> None:
    name, producer_id, epoch = _begun(ask)
    if ask.version < 5:
        ask.quietly(AddOffsetsToTxnRequest(name, producer_id, epoch, ask.name("g")), 3)
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing")]
    topics = [
        TxnOffsetCommitRequestTopic(
            **ask.reference(each, 6, "name"), partitions=[TxnOffsetCommitRequestPartition(0, 1)]
        )
        for each in names
    ]
    ask(TxnOffsetCommitRequest(name, ask.name("g"), producer_id, epoch, topics=topics))
    ask(TxnOffsetCommitRequest(name, ask.name("g"), producer_id, epoch, topics=topics[1:2]))


@case(ApiKey.WRITE_TXN_MARKERS, (CLUSTER, None, CLUSTER_ACTION), (CLUSTER, None, ALTER), (CLUSTER, None, DESCRIBE))
def markers_are_written(ask: SignedAsk) -> None:
    topics = [WritableTxnMarkerTopic(ask.topic("t"), [0, 7])]
    ask(WriteTxnMarkersRequest([WritableTxnMarker(77, 1, False, topics, 0)]))
    ask(WriteTxnMarkersRequest([]))


@case(
    ApiKey.DESCRIBE_TRANSACTIONS, (TRANSACTIONAL_ID, "id", DESCRIBE), (TRANSACTIONAL_ID, "id", WRITE),
    (TOPIC, "t", DESCRIBE), (TRANSACTIONAL_ID, "none", DESCRIBE),
)  # fmt: skip
def transactions_are_described(ask: SignedAsk) -> None:
    producer = _begun(ask)
    topics = [AddPartitionsToTxnTopic(ask.topic(what), [0]) for what in ("t", "u")]
    ask.quietly(AddPartitionsToTxnRequest([], *producer, topics), 3)
    seen = ask.quietly_as_user(DescribeTransactionsRequest([ask.name("id"), ask.name("other"), ask.name("none")]))
    for state in seen.transaction_states:
        state.transaction_start_time_ms = min(state.transaction_start_time_ms, 0)
    ask.keep(seen)
    ask.quietly(EndTxnRequest(*producer, False), 3)


@case(ApiKey.LIST_TRANSACTIONS, (TRANSACTIONAL_ID, "id", DESCRIBE), (TRANSACTIONAL_ID, "u", WRITE), versions=(0, 2))
def transactions_are_listed(ask: SignedAsk) -> None:
    for what in ("id", "u", "v"):
        _begun(ask, what)
    listed = ask.quietly_as_user(ListTransactionsRequest())
    listed.transaction_states = [
        each for each in listed.transaction_states if each.transactional_id.startswith(f"{ask.prefix}-")
    ]
    ask.keep(listed)
