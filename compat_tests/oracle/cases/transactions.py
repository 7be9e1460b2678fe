"""InitProducerId with transactional ids, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, WriteTxnMarkers, the descriptions."""

from __future__ import annotations

from compat_tests.oracle.cases import case
from compat_tests.oracle.cases.fetching import fetch, of
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.transacting import Transacting, coordinator_ready
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.list_transactions import ListTransactionsRequest
from pykbroker.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest

# ---- InitProducerId


def ready(answer: object) -> bool:
    return getattr(answer, "error_code", 0) not in (14, 15, 16, 51)


@case(ApiKey.INIT_PRODUCER_ID)
def of_a_transactional_id(ask: Ask) -> None:
    coordinator_ready(ask, ask.name("id"))
    for _ in range(3):
        ask.until(ready, InitProducerIdRequest(ask.name("id"), 60_000))


@case(ApiKey.INIT_PRODUCER_ID)
def with_bad_time_limits(ask: Ask) -> None:
    coordinator_ready(ask, ask.name("id"))
    for timeout_ms in (0, -1, 900_001, 900_000):
        ask.until(ready, InitProducerIdRequest(ask.name("id"), timeout_ms))
    ask(InitProducerIdRequest("", 60_000))


@case(ApiKey.INIT_PRODUCER_ID, since=3)
def of_a_recovering_producer(ask: Ask) -> None:
    txn = Transacting(ask)
    init = InitProducerIdRequest
    ask(init(txn.id, 60_000, txn.producer_id, 0))
    ask(init(txn.id, 60_000, txn.producer_id, 0))  # repeated
    ask(init(txn.id, 60_000, txn.producer_id, 1))
    ask(init(txn.id, 60_000, txn.producer_id, 0))  # fenced
    ask(init(txn.id, 60_000, txn.producer_id, 9))
    ask(init(txn.id, 60_000, 987_654_321, 2))
    ask(init(txn.id, 60_000, txn.producer_id, -1))
    ask(init(txn.id, 60_000, -1, 2))
    ask(init(None, 60_000, -1, 2))
    coordinator_ready(ask, ask.name("new"))
    ask.until(ready, init(ask.name("new"), 60_000, 987_654_321, 7))


@case(ApiKey.INIT_PRODUCER_ID)
def while_a_transaction_is_open(ask: Ask) -> None:
    topic, txn = ask.topic(), Transacting(ask)
    txn.produce(topic)
    ask(InitProducerIdRequest(txn.id, 60_000))
    ask.until(ready, InitProducerIdRequest(txn.id, 60_000))
    ask(DescribeTransactionsRequest([txn.id]), 0)


@case(ApiKey.INIT_PRODUCER_ID, since=3)
def by_the_producer_of_the_open_transaction(ask: Ask) -> None:
    topic, txn = ask.topic(), Transacting(ask)
    txn.produce(topic)
    request = InitProducerIdRequest(txn.id, 60_000, txn.producer_id, txn.epoch)
    ask(request)
    ask.until(ready, request)
    ask.until(ready, request)


# ---- AddPartitionsToTxn


@case(ApiKey.ADD_PARTITIONS_TO_TXN)
def partitions_are_added(ask: Ask) -> None:
    topic, other, txn = ask.topic(partitions=3), ask.topic("other"), Transacting(ask)
    ask(txn.adding((topic, 0), (topic, 2), version=ask.version))
    ask(txn.adding((topic, 0), version=ask.version))
    ask(txn.adding((other, 0), version=ask.version))
    ask(txn.adding(version=ask.version))
    ask(DescribeTransactionsRequest([txn.id]), 0)


@case(ApiKey.ADD_PARTITIONS_TO_TXN)
def partitions_are_refused(ask: Ask) -> None:
    topic, txn = ask.topic(), Transacting(ask)
    txn.init()
    version = ask.version
    ask(txn.adding((topic, 0), (ask.name("none"), 0), version=version))
    ask(txn.adding((topic, 7), version=version))
    ask(txn.adding((topic, 0), version=version, producer_epoch=0))
    ask(txn.adding((topic, 0), version=version, producer_epoch=2))
    ask(txn.adding((topic, 0), version=version, producer_id=987_654_321))
    ask(txn.adding((topic, 0), version=version, transactional_id=""))
    coordinator_ready(ask, ask.name("unknown"))
    ask(txn.adding((topic, 0), version=version, transactional_id=ask.name("unknown")))


@case(ApiKey.ADD_PARTITIONS_TO_TXN, since=4)
def brokers_ask_for_many(ask: Ask) -> None:
    topic, one, two = ask.topic(partitions=2), Transacting(ask, "one"), Transacting(ask, "two")
    one.add((topic, 0))

    def of(txn: Transacting, *indexes: int, verify: bool, epoch: int = 0) -> AddPartitionsToTxnTransaction:
        topics = [AddPartitionsToTxnTopic(topic, list(indexes))]
        return AddPartitionsToTxnTransaction(txn.id, txn.producer_id, epoch, verify, topics)

    ask(AddPartitionsToTxnRequest([of(one, 0, 1, verify=True), of(two, 0, verify=True)]))
    ask(AddPartitionsToTxnRequest([of(one, 0, verify=True, epoch=3), of(two, 0, 1, verify=False)]))
    ask(AddPartitionsToTxnRequest([of(two, 0, 1, verify=True)]))
    ask(AddPartitionsToTxnRequest([of(two, 5, verify=True)]))


# ---- AddOffsetsToTxn


@case(ApiKey.ADD_OFFSETS_TO_TXN)
def offsets_are_added(ask: Ask) -> None:
    txn = Transacting(ask)
    coordinator_ready(ask, ask.name("group"), 0)
    ask(txn.adding_offsets(ask.name("group")))
    ask(txn.adding_offsets(ask.name("group")))
    ask(txn.adding_offsets(ask.name("group"), producer_epoch=1))
    ask(txn.adding_offsets(ask.name("group"), producer_id=987_654_321))
    ask(txn.adding_offsets(ask.name("group"), transactional_id=""))
    ask(txn.adding_offsets(""))


# ---- EndTxn


def endings(ask: Ask, txn: Transacting) -> None:
    """Every way to end, each by a producer that is too old, current, and too young; then with another's id."""
    for commit in (True, False):
        for epoch in (txn.epoch - 1, txn.epoch + 1):
            ask.until(ready, txn.ending(commit=commit, producer_epoch=epoch))
        ask.until(ready, txn.ending(commit=commit, producer_id=987_654_321))


@case(ApiKey.END_TXN)
def of_nothing(ask: Ask) -> None:
    coordinator_ready(ask, ask.name("unknown"))
    for name in ("", ask.name("unknown")):
        ask(Transacting.ending(Transacting(ask, name or "other"), commit=True, transactional_id=name))
    txn = Transacting(ask)
    endings(ask, txn)
    ask.until(ready, txn.ending(commit=True))
    ask.until(ready, txn.ending(commit=False))


@case(ApiKey.END_TXN)
def of_an_open_transaction(ask: Ask) -> None:
    topic, txn = ask.topic(), Transacting(ask)
    txn.produce(topic)
    for epoch in (-1, 1, 2):
        ask(txn.ending(commit=True, producer_epoch=epoch))
    ask(txn.ending(commit=True, producer_id=987_654_321))
    ask(txn.ending(commit=True))


@case(ApiKey.END_TXN)
def again_after_a_commit(ask: Ask) -> None:
    _again(ask, first=True)


@case(ApiKey.END_TXN)
def again_after_an_abort(ask: Ask) -> None:
    _again(ask, first=False)


@case(ApiKey.END_TXN)
def delayed_past_the_next_transaction(ask: Ask) -> None:
    """A commit that was sent twice arrives again while the next transaction is half done. By transaction protocol 1 it commits this half,
    and the producer's own abort is refused (what Jepsen saw, KAFKA-17754); by protocol 2 (KIP-890) it belongs to an earlier epoch.
    """
    topic, txn = ask.topic(), Transacting(ask)
    protocol_2 = ask.version >= 5
    txn.produce(topic)
    delayed = txn.ending(commit=True)
    txn.end(commit=True, version=ask.version)
    txn.produce(topic, sequence=0 if protocol_2 else 3)
    ask(delayed)
    txn.wait_for("Ongoing" if protocol_2 else "CompleteCommit")
    ask(txn.ending(commit=False))
    txn.wait_for("CompleteAbort" if protocol_2 else "CompleteCommit")
    ask(fetch(ask, of(ask, topic), isolation_level=1), 12)


def _again(ask: Ask, *, first: bool) -> None:
    for commit in (True, False):
        for behind in (0, 1, 2, -1):
            topic, txn = ask.topic(f"t{commit}{behind}"), Transacting(ask, f"id{commit}{behind}")
            txn.init()
            txn.produce(topic)
            txn.end(commit=first, version=ask.version)
            ask.until(ready, txn.ending(commit=commit, producer_epoch=txn.epoch - behind))
            ask.until(
                lambda found: "Prepare" not in found.transaction_states[0].transaction_state,
                DescribeTransactionsRequest([txn.id]),
                0,
            )


# ---- WriteTxnMarkers


def marker(
    topic: str, producer_id: int, epoch: int, *indexes: int, coordinator_epoch: int = 0, version: int = 0
) -> WriteTxnMarkersRequest:
    topics = [WritableTxnMarkerTopic(topic, list(indexes))]
    return WriteTxnMarkersRequest([WritableTxnMarker(producer_id, epoch, False, topics, coordinator_epoch, version)])


@case(ApiKey.WRITE_TXN_MARKERS)
def markers(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    for partition in (0, 1):
        ask.fill(topic, 1, partition)
    ask(marker(topic, 4321, 5, 0, 1, 7, coordinator_epoch=3))
    ask(marker(topic, 4321, 5, 0, coordinator_epoch=3))
    ask(marker(topic, 4321, 4, 0, coordinator_epoch=3))
    ask(marker(topic, 4321, 5, 0, coordinator_epoch=2))
    ask(marker(topic, 4321, 6, 0, coordinator_epoch=4))
    ask(marker(ask.name("none"), 4321, 5, 0))
    ask(WriteTxnMarkersRequest([]))


@case(ApiKey.WRITE_TXN_MARKERS, since=2)
def markers_of_transaction_version_2(ask: Ask) -> None:
    topic, txn = ask.topic(), Transacting(ask)
    txn.produce(topic)
    ask(marker(topic, txn.producer_id, txn.epoch, 0, version=2))
    ask(marker(topic, txn.producer_id, txn.epoch + 1, 0, version=2))
    ask(marker(topic, txn.producer_id, txn.epoch + 1, 0, version=2))


# ---- DescribeTransactions, ListTransactions


@case(ApiKey.DESCRIBE_TRANSACTIONS)
def descriptions(ask: Ask) -> None:
    topic, txn = ask.topic(partitions=2), Transacting(ask, timeout_ms=12_345)
    ask(DescribeTransactionsRequest([txn.id]))
    txn.add((topic, 1), (topic, 0))
    ask(DescribeTransactionsRequest([txn.id]))
    txn.end(commit=True)
    ask(DescribeTransactionsRequest([txn.id]))
    coordinator_ready(ask, ask.name("unknown"))
    ask(DescribeTransactionsRequest(["", ask.name("unknown"), txn.id]))
    ask(DescribeTransactionsRequest([]))


@case(ApiKey.LIST_TRANSACTIONS)
def listings(ask: Ask) -> None:
    topic, open_one, empty = ask.topic(), Transacting(ask, "open"), Transacting(ask, "empty")
    open_one.add((topic, 0))
    both = [open_one.producer_id, empty.producer_id]
    ask(ListTransactionsRequest([], both))
    ask(ListTransactionsRequest(["Ongoing"], both))
    ask(ListTransactionsRequest(["Empty", "Nonsense", "ongoing"], both))
    ask(ListTransactionsRequest(["Dead", "PrepareEpochFence"], both))
    ask(ListTransactionsRequest(["Nonsense"], both))
    open_one.end(commit=False)


@case(ApiKey.LIST_TRANSACTIONS, since=1)
def listings_by_age(ask: Ask) -> None:
    topic, txn, empty = ask.topic(), Transacting(ask), Transacting(ask, "empty")
    txn.add((topic, 0))
    for age_ms in (-1, 0, 3_600_000, -7):
        ask.until(
            lambda found, age=age_ms: age or len(found.transaction_states) == 2,
            ListTransactionsRequest([], [txn.producer_id, empty.producer_id], age_ms),
        )
    txn.end(commit=False)


@case(ApiKey.LIST_TRANSACTIONS, since=2)
def listings_by_pattern(ask: Ask) -> None:
    txn = Transacting(ask)
    for pattern in (
        None,
        "",
        ".*",
        txn.id,
        txn.id[:-1],
        "nothing",
        "^" + txn.id + "$",
        "(",
        "a{1001}",
        r"(?P<x>.*)",
        r"(a)\1",
    ):
        ask(ListTransactionsRequest([], [txn.producer_id], -1, pattern))
