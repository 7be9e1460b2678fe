"""What transactions do to data: transactional Produce, read_committed Fetch and ListOffsets, TxnOffsetCommit."""

from __future__ import annotations

from typing import Any

from compat_tests.oracle.cases import case
from compat_tests.oracle.cases.fetching import fetch, of
from compat_tests.oracle.cases.groups import settled_group
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.transacting import Transacting, coordinator_ready
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics

COMMITTED = 1


def produced(found: Any) -> bool:
    return found.responses[0].partition_responses[0].error_code not in (3, 6, 19, 51)


# ---- Produce


@case(ApiKey.PRODUCE, since=3)
def batches_of_a_transaction(ask: Ask) -> None:
    topic, txn = ask.topic(), Transacting(ask)
    txn.add((topic, 0))
    ask.until(produced, txn.producing(topic, txn.batch(), version=ask.version))
    ask(txn.producing(topic, txn.batch(), version=ask.version))  # the same again
    ask(txn.producing(topic, txn.batch(sequence=3), version=ask.version))
    ask(txn.producing(topic, txn.batch(sequence=7), version=ask.version))
    ask(txn.producing(topic, txn.batch(sequence=6, producer_epoch=1), version=ask.version))
    txn.end(commit=True, version=5 if ask.version >= 12 else 3)


@case(ApiKey.PRODUCE, since=3)
def batches_outside_their_transaction(ask: Ask) -> None:
    topic, txn = ask.topic(partitions=2), Transacting(ask)
    txn.add((topic, 1))
    ask.until(produced, txn.producing(topic, txn.batch(), version=ask.version))
    ask(txn.producing(topic, txn.batch(), version=ask.version, transactional_id=None))
    ask(txn.producing(topic, txn.batch(producer_epoch=1), version=ask.version))
    ask(txn.producing(topic, txn.batch(producer_id=987_654_321), version=ask.version))
    coordinator_ready(ask, ask.name("unknown"))
    ask(
        txn.producing(
            topic, txn.batch(producer_id=987_654_322), version=ask.version, transactional_id=ask.name("unknown")
        )
    )
    ask(DescribeTransactionsRequest([txn.id]), 0)


@case(ApiKey.PRODUCE, since=12)
def partitions_join_by_being_written_to(ask: Ask) -> None:
    topic, txn = ask.topic(partitions=2), Transacting(ask)
    ask.until(produced, txn.producing(topic, txn.batch(), version=ask.version))
    ask.until(produced, txn.producing(topic, txn.batch(), 1, version=ask.version))
    ask(DescribeTransactionsRequest([txn.id]), 0)
    txn.end(commit=True, version=5)
    ask.until(produced, txn.producing(topic, txn.batch(), version=ask.version))
    txn.end(commit=False, version=5)
    ask(txn.producing(topic, txn.batch(producer_epoch=0, sequence=3), version=ask.version))


@case(ApiKey.PRODUCE, since=3)
def a_first_batch_that_is_not_the_first(ask: Ask) -> None:
    topic, txn = ask.topic(), Transacting(ask)
    txn.add((topic, 0))
    ask.until(produced, txn.producing(topic, txn.batch(sequence=5), version=ask.version))
    ask(txn.producing(topic, txn.batch(sequence=2), version=ask.version))
    ask(txn.producing(topic, txn.batch(sequence=0), version=ask.version))
    ask(txn.producing(topic, txn.batch(sequence=5), version=ask.version))
    txn.end(commit=False, version=5 if ask.version >= 12 else 3)
    ask.until(produced, txn.producing(topic, txn.batch(sequence=4), version=ask.version))


@case(ApiKey.PRODUCE, since=3)
def plain_batches_of_a_transactional_producer(ask: Ask) -> None:
    from compat_tests.oracle.requests import records
    from pykbroker.wire.records import encode_batch

    topic, txn = ask.topic(), Transacting(ask)
    txn.produce(topic)
    plain = encode_batch(records(0, 2), producer_id=txn.producer_id, producer_epoch=0, base_sequence=3)
    ask(txn.producing(topic, plain, version=ask.version))
    ask(txn.producing(topic, encode_batch(records(0, 2)), version=ask.version))
    txn.end(commit=True)


# ---- Fetch, ListOffsets, DescribeProducers


def history(ask: Ask) -> tuple[str, Transacting]:
    """A topic with a commit, two aborts (one of them around the other) and an open transaction."""
    topic = ask.topic()
    one, two, late = Transacting(ask, "one"), Transacting(ask, "two"), Transacting(ask, "late")
    one.produce(topic)
    one.end(commit=True)
    one.produce(topic, sequence=3)
    two.produce(topic)
    two.end(commit=False)
    ask.fill(topic, 2)
    one.end(commit=False)
    late.produce(topic)
    ask.fill(topic, 3)
    return topic, late


@case(ApiKey.FETCH)
def committed_only(ask: Ask) -> None:
    topic, late = history(ask)
    for offset in (0, 4, 5, 10, 13, 14, 20):
        ask(fetch(ask, of(ask, topic, offset), isolation_level=COMMITTED))
    late.end(commit=True)
    ask(fetch(ask, of(ask, topic, 12), isolation_level=COMMITTED))
    ask(fetch(ask, of(ask, topic, 0)))


@case(ApiKey.LIST_OFFSETS)
def committed_offsets_only(ask: Ask) -> None:
    topic, late = history(ask)
    for timestamp in (-1, -2, 1_700_000_000_000, 1_700_000_002_000, 1_800_000_000_000):
        for level in (0, COMMITTED) if ask.version >= 2 else (0,):
            parts = [ListOffsetsPartition(0, timestamp=timestamp)]
            ask(ListOffsetsRequest(-1, level, [ListOffsetsTopic(topic, parts)]))
    late.end(commit=True)


@case(ApiKey.DESCRIBE_PRODUCERS)
def producers_with_transactions(ask: Ask) -> None:
    topic, late = history(ask)
    ask(DescribeProducersRequest([TopicRequest(topic, [0])]))
    late.end(commit=True, version=5)
    ask(DescribeProducersRequest([TopicRequest(topic, [0])]))


# ---- TxnOffsetCommit


def stored(ask: Ask, group: str, topic: str) -> None:
    """Keeps what is committed, as anybody sees it and as those see it who want it stable."""
    for stable in (False, True):
        for topics in ([OffsetFetchRequestTopics(topic, partition_indexes=[0, 1])], None):
            ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=topics)], require_stable=stable), 9)


def commit_plainly(ask: Ask, group: str, topic: str, offset: int) -> None:
    parts = [OffsetCommitRequestPartition(0, offset, -1, "plain")]
    ask(OffsetCommitRequest(group, -1, "", topics=[OffsetCommitRequestTopic(topic, partitions=parts)]), 8)


def in_transaction(ask: Ask, what: str = "id") -> tuple[str, str, Transacting]:
    topic, group, txn = ask.topic(partitions=2), ask.name("group"), Transacting(ask, what)
    coordinator_ready(ask, group, 0)
    if ask.version < 5:
        answer = txn.quietly(txn.adding_offsets(group), 3)
        assert answer.error_code == 0
    return topic, group, txn


@case(ApiKey.TXN_OFFSET_COMMIT)
def offsets_count_when_committed(ask: Ask) -> None:
    topic, group, txn = in_transaction(ask)
    ask(txn.committing_offsets(group, (topic, 0, 5), (topic, 1, 6)))
    stored(ask, group, topic)
    txn.end(commit=True, version=5 if ask.version >= 5 else 3)
    stored(ask, group, topic)


@case(ApiKey.TXN_OFFSET_COMMIT)
def offsets_go_when_aborted(ask: Ask) -> None:
    topic, group, txn = in_transaction(ask)
    commit_plainly(ask, group, topic, 1)
    ask(txn.committing_offsets(group, (topic, 0, 5)))
    stored(ask, group, topic)
    txn.end(commit=False, version=5 if ask.version >= 5 else 3)
    stored(ask, group, topic)


@case(ApiKey.TXN_OFFSET_COMMIT)
def a_later_commit_stays(ask: Ask) -> None:
    topic, group, txn = in_transaction(ask)
    ask(txn.committing_offsets(group, (topic, 0, 5), (topic, 1, 5)))
    commit_plainly(ask, group, topic, 9)
    txn.end(commit=True, version=5 if ask.version >= 5 else 3)
    stored(ask, group, topic)


@case(ApiKey.TXN_OFFSET_COMMIT)
def offset_commits_are_refused(ask: Ask) -> None:
    topic, group, txn = in_transaction(ask)
    ask(txn.committing_offsets(group, (topic, 0, 5), (ask.name("none"), 0, 1), (topic, 9, 1)))
    ask(txn.committing_offsets(group, (ask.name("none"), 0, 1)))
    ask(txn.committing_offsets("", (topic, 0, 5)))
    ask(txn.committing_offsets(group, (topic, 0, 5), metadata="x" * 4097))
    ask(txn.committing_offsets(group, (topic, 0, 5), metadata=None))
    ask(txn.committing_offsets(group, (topic, 0, 5), producer_epoch=1))
    ask(txn.committing_offsets(group, (topic, 0, 5), producer_id=987_654_321))
    ask(txn.committing_offsets(group))
    if ask.version >= 3:
        ask(txn.committing_offsets(group, (topic, 0, 5), generation_id_or_member_epoch=3, member_id="nobody"))
        ask(txn.committing_offsets(group, (topic, 0, 5), member_id="nobody"))
        ask(txn.committing_offsets(group, (topic, 0, 5), group_instance_id="nobody"))
    stored(ask, group, topic)


@case(ApiKey.TXN_OFFSET_COMMIT)
def offset_commits_by_members(ask: Ask) -> None:
    group, member = settled_group(ask)
    topic, txn = ask.topic(partitions=2), Transacting(ask)
    if ask.version < 5:
        txn.quietly(txn.adding_offsets(group), 3)
    ask(txn.committing_offsets(group, (topic, 0, 5)))
    if ask.version >= 3:
        for generation, who in ((1, member), (2, member), (0, member), (1, "nobody"), (-1, member), (1, "")):
            ask(txn.committing_offsets(group, (topic, 1, 6), generation_id_or_member_epoch=generation, member_id=who))
    stored(ask, group, topic)
    txn.end(commit=True, version=5 if ask.version >= 5 else 3)
    stored(ask, group, topic)


@case(ApiKey.TXN_OFFSET_COMMIT, since=5)
def offset_commits_of_a_generation_that_never_was(ask: Ask) -> None:
    topic, group, txn = in_transaction(ask)
    ask(txn.committing_offsets(group, (topic, 0, 5), generation_id_or_member_epoch=3, member_id="nobody"))
    stored(ask, group, topic)


@case(ApiKey.TXN_OFFSET_COMMIT)
def offset_commits_outside_the_transaction(ask: Ask) -> None:
    topic, group, txn = ask.topic(), ask.name("group"), Transacting(ask)
    coordinator_ready(ask, group, 0)
    ask(txn.committing_offsets(group, (topic, 0, 5)))
    ask(txn.committing_offsets(group, (topic, 0, 5), transactional_id=ask.name("id")[:-1]))
