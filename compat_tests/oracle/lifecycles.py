"""Lives of groups and of transactional producers, for ``test_restarts``: at each ``yield`` the broker is restarted.

A state in which nothing can be stopped from outside (a transaction between its end and its last marker, a group between
two requests) is in no life; the coordinators' own tests crash in those.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial

from compat_tests.oracle.cases import consumer_groups
from compat_tests.oracle.cases.committed import committed
from compat_tests.oracle.cases.fetching import fetch, of
from compat_tests.oracle.cases.groups import BEAT, JOIN, LEAVE, SYNC, enter, join, sync
from compat_tests.oracle.cases.transactional_data import COMMITTED, commit_plainly, stored
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.transacting import GROUP, Transacting, coordinator_ready, quiet_until
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

Life = Callable[[Ask], Iterator[None]]

_PATIENT = {"rebalance_timeout_ms": 60_000}


# ---- a classic group


def _until_rebalanced(
    ask: Ask, group: str, begin: Callable[[], None], look: Callable[[], None], commit: Callable[[int, int, str], None]
) -> Generator[None, None, tuple[str, str]]:
    """From offsets alone to the second generation, whose two members are returned."""
    coordinator_ready(ask, group, GROUP)
    begin()
    look()
    yield  # offsets and no group

    look()
    unused = ask.quietly(join(group, **_PATIENT), JOIN).member_id
    look()
    yield  # an id was given out

    look()
    ask(join(group, unused, **_PATIENT), JOIN)
    one = enter(ask, group, **_PATIENT)
    look()
    yield  # CompletingRebalance for the first time: its member is in no record

    look()
    ask(HeartbeatRequest(group, 1, one), BEAT)
    ask(sync(group, 1, one, {one: b"all"}), SYNC)
    one = enter(ask, group, **_PATIENT)
    ask(sync(group, 1, one, {one: b"all"}), SYNC)
    commit(5, 1, one)
    look()
    yield  # Stable

    look()
    ask(HeartbeatRequest(group, 1, one), BEAT)
    commit(6, 1, one)
    two = ask.quietly(join(group, **_PATIENT), JOIN).member_id
    ask.send(join(group, two, **_PATIENT), JOIN)
    quiet_until(ask, lambda found: found.error_code == 27, HeartbeatRequest(group, 1, one), BEAT)
    look()
    yield  # PreparingRebalance: the newcomer waits

    look()
    ask(HeartbeatRequest(group, 1, one), BEAT)
    ask(join(group, two, **_PATIENT), JOIN)
    two = ask.quietly(join(group, **_PATIENT), JOIN).member_id
    newcomers = ask.send(join(group, two, **_PATIENT), JOIN)
    quiet_until(ask, lambda found: found.error_code == 27, HeartbeatRequest(group, 1, one), BEAT)
    ask(join(group, one, **_PATIENT), JOIN)
    ask.answered(newcomers)
    look()
    yield  # CompletingRebalance: back to the generation before
    return one, two


def classic_group(ask: Ask) -> Iterator[None]:
    """Offsets alone, joining, stable, rebalancing, completing, static, empty, dead."""
    topic, group = ask.topic(partitions=2), ask.name("group")

    def look() -> None:
        coordinator_ready(ask, group, GROUP)
        ask(DescribeGroupsRequest([group]), 6)
        listed = quiet_until(ask, lambda found: found.error_code == 0, ListGroupsRequest(), 5)
        listed.groups = [found for found in listed.groups if found.group_id == group]
        ask.keep(listed)
        committed(ask, group, topic, 0, 1, version=7)

    def commit(offset: int, generation: int, member: str) -> None:
        wanted = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(1, offset)])
        ask(OffsetCommitRequest(group, generation, member, topics=[wanted]), 8)

    one, two = yield from _until_rebalanced(ask, group, partial(commit_plainly, ask, group, topic, 3), look, commit)

    look()
    ask(HeartbeatRequest(group, 2, one), BEAT)
    ask(sync(group, 2, one, {one: b"for one", two: b"for two"}), SYNC)
    ask(HeartbeatRequest(group, 1, one), BEAT)
    static = ask.send(join(group, group_instance_id="machine", **_PATIENT), JOIN)
    quiet_until(ask, lambda found: found.error_code == 27, HeartbeatRequest(group, 1, one), BEAT)
    ask(join(group, one, **_PATIENT), JOIN)
    three = ask.answered(static).member_id
    follower = ask.send(sync(group, 2, three, group_instance_id="machine"), SYNC)
    ask(sync(group, 2, one, {one: b"for one", three: b"for the static one"}), SYNC)
    ask.answered(follower)
    commit(7, 2, one)
    look()
    yield  # Stable, with a static member

    look()
    again = ask(join(group, group_instance_id="machine", **_PATIENT), JOIN)
    ask(sync(group, 2, again.member_id, group_instance_id="machine"), SYNC)
    ask(HeartbeatRequest(group, 2, three, "machine"), BEAT)
    ask(DeleteGroupsRequest([group]), 2)
    ask(LeaveGroupRequest(group, members=[MemberIdentity(one), MemberIdentity("", "machine")]), LEAVE)
    look()
    yield  # Empty

    look()
    ask(HeartbeatRequest(group, 2, one), BEAT)
    ask(DeleteGroupsRequest([group]), 2)
    look()
    yield  # Dead

    look()
    ask(DeleteGroupsRequest([group]), 2)


# ---- a consumer group


def consumer_group(ask: Ask) -> Iterator[None]:
    """Of the new protocol: alone, one that must give up a partition, both stable, one that leaves, empty, dead."""
    topic, group = ask.topic(partitions=2), consumer_groups.group(ask)
    coordinator_ready(ask, group, GROUP)
    beats, joins = consumer_groups.beats, consumer_groups.joins

    def look() -> None:
        coordinator_ready(ask, group, GROUP)
        consumer_groups.looks(ask, group)

    def owned(*partitions: int) -> dict:
        return {"topic_partitions": consumer_groups.owns(ask, {topic: list(partitions)} if partitions else {})}

    ask(joins(group, "one", topic), 1)
    look()
    yield  # one member, which has not yet said that it owns anything

    look()
    ask(beats(group, "one", 1, **owned(0, 1)), 1)
    ask(joins(group, "two", topic), 1)
    look()
    yield  # the second waits for what the first has

    look()
    ask(beats(group, "one", 1, **owned(0, 1)), 1)
    look()
    yield  # the first is told to give up a partition

    look()
    ask(beats(group, "two", 2, **owned()), 1)
    ask(beats(group, "one", 1, **owned(0)), 1)
    ask(beats(group, "two", 2), 1)
    look()
    yield  # both have their target

    look()
    ask(beats(group, "one", 2, **owned(0)), 1)
    ask(beats(group, "two", 2, **owned(1)), 1)
    ask(beats(group, "two", -1), 1)
    look()
    yield  # one has left, the other's target has grown

    look()
    ask(beats(group, "one", 2, **owned(0)), 1)
    ask(beats(group, "one", 3, **owned(0, 1)), 1)
    ask(beats(group, "one", -1), 1)
    look()
    yield  # Empty

    look()
    ask(DeleteGroupsRequest([group]), 2)
    look()
    yield  # Dead

    look()


# ---- a transactional id


def transaction_v1(ask: Ask) -> Iterator[None]:
    return _transaction(ask, produce=9, end=3, offsets=3)


def transaction_v2(ask: Ask) -> Iterator[None]:
    return _transaction(ask, produce=12, end=5, offsets=5)


def _look_at_transaction(ask: Ask, transactional_id: str, topic: str, group: str) -> None:
    coordinator_ready(ask, transactional_id)
    coordinator_ready(ask, group, GROUP)
    ask(DescribeTransactionsRequest([transactional_id]), 0)
    ask(DescribeProducersRequest([TopicRequest(topic, [0, 1])]), 0)
    for level in (0, COMMITTED):
        parts = [ListOffsetsPartition(index, -1, -1) for index in (0, 1)]
        ask(ListOffsetsRequest(-1, level, [ListOffsetsTopic(topic, parts)]), 9)
    stored(ask, group, topic)


def _transaction(ask: Ask, *, produce: int, end: int, offsets: int) -> Iterator[None]:
    """Empty, ongoing, with offsets, committed, aborted, fenced."""
    topic, group = ask.topic(partitions=2), ask.name("group")
    txn = Transacting(ask)

    look = partial(_look_at_transaction, ask, txn.id, topic, group)
    look()
    yield  # Empty

    look()
    txn.produce(topic, version=produce)
    look()
    yield  # Ongoing

    look()
    txn.produce(topic, sequence=3, version=produce)
    if offsets < 5:
        txn.quietly(txn.adding_offsets(group), 3)
    ask(txn.committing_offsets(group, (topic, 0, 5)), offsets)
    look()
    yield  # Ongoing, with offsets

    look()
    txn.end(commit=True, version=end)
    look()
    yield  # CompleteCommit

    look()
    ask(fetch(ask, of(ask, topic), isolation_level=COMMITTED), 9)
    sequence = 0 if end >= 5 else 6
    txn.produce(topic, sequence=sequence, version=produce)
    txn.produce(topic, 1, version=produce)
    yield  # Ongoing for the second time

    look()
    txn.end(commit=False, version=end)
    look()
    yield  # CompleteAbort

    look()
    for partition in (0, 1):
        ask(fetch(ask, of(ask, topic, partition=partition), isolation_level=COMMITTED), 9)
    txn.produce(topic, sequence=0 if end >= 5 else 9, version=produce)
    yield  # Ongoing, and its producer is replaced

    look()
    old = txn.batch(sequence=3 if end >= 5 else 12)
    txn.init()
    ask(txn.producing(topic, old, version=produce), produce)
    ask(InitProducerIdRequest(txn.id, 60_000, txn.producer_id, txn.epoch - 1), 4)
    look()
    yield  # fenced

    look()
    txn.produce(topic, version=produce)
    txn.end(commit=True, version=end)
    look()
    ask(fetch(ask, of(ask, topic), isolation_level=COMMITTED), 9)


def deleted_records_v1(ask: Ask) -> Iterator[None]:
    return _deleted_records(ask, produce=9, end=3)


def deleted_records_v2(ask: Ask) -> Iterator[None]:
    return _deleted_records(ask, produce=12, end=5)


def _deleted_records(ask: Ask, *, produce: int, end: int) -> Iterator[None]:
    """Of a transaction that is open the first records are deleted, elsewhere all. After a restart nothing says there that it began: its
    next batch is refused with OUT_OF_ORDER_SEQUENCE_NUMBER in version 2, and taken in version 1. Then it ends.

    Where the log begins within a batch, Apache Kafka's last stable offset is that of the batch, before the beginning of the log, here the
    beginning itself.
    """
    topic = ask.topic(partitions=2)
    txn = Transacting(ask, timeout_ms=600_000)
    for partition in (0, 1):
        for sequence in (0, 3):
            txn.produce(topic, partition, sequence=sequence, version=produce)
        parts = [DeleteRecordsPartition(partition, (3, 6)[partition])]
        ask(DeleteRecordsRequest([DeleteRecordsTopic(topic, parts)], 10_000), 2)

    def look() -> None:
        _look_at_transaction(ask, txn.id, topic, ask.name("none"))

    look()
    yield  # Ongoing

    look()
    for partition in (0, 1):
        ask(txn.producing(topic, txn.batch(sequence=6), partition, version=produce), produce)
        ask(txn.producing(topic, txn.batch(sequence=12), partition, version=produce), produce)
    look()
    yield  # Ongoing, and more was written or refused

    look()
    txn.end(commit=True, version=end)
    look()
    yield  # CompleteCommit

    look()


LIFECYCLES: tuple[Life, ...] = (
    *(classic_group, consumer_group, transaction_v1, transaction_v2),
    *(deleted_records_v1, deleted_records_v2),
)
