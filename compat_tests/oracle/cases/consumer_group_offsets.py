"""Committed offsets of consumer groups: which member epochs may commit and fetch, and what goes with a group."""

from __future__ import annotations

from compat_tests.oracle.cases import case
from compat_tests.oracle.cases.consumer_groups import BEAT, beats, group, joins, owns
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)


def commits(
    ask: Ask, group: str, topic: str, member: str, epoch: int, *partitions: int, instance: str | None = None
) -> OffsetCommitRequest:
    offsets = [OffsetCommitRequestPartition(partition, 5, -1, "") for partition in partitions or (0,)]
    return OffsetCommitRequest(
        group, epoch, member, instance, -1, [OffsetCommitRequestTopic(topic, ask.topic_ids[topic], offsets)]
    )


def fetches(ask: Ask, group: str, topic: str, member: str | None = None, epoch: int = -1) -> OffsetFetchRequest:
    if ask.version < 8:
        return OffsetFetchRequest(group, [OffsetFetchRequestTopic(topic, [0, 1])])
    topics = [OffsetFetchRequestTopics(topic, ask.topic_ids[topic], [0, 1])]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, member, epoch, topics)])


def reconciled_pair(ask: Ask) -> tuple[str, str]:
    """A group of two, "one" with partition 0 since epoch 2 and "two" with partition 1 since epoch 3."""
    topic, name = ask.topic(partitions=2), group(ask)
    ask.quietly(joins(name, "one", topic), BEAT)
    ask.quietly(joins(name, "two", topic), BEAT)
    ask.quietly(beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0, 1]})), BEAT)
    ask.quietly(beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0]})), BEAT)
    ask.quietly(beats(name, "two", 3), BEAT)
    return topic, name


@case(ApiKey.OFFSET_COMMIT)
def by_member_epoch(ask: Ask) -> None:
    topic, name = reconciled_pair(ask)
    for member, epoch, partitions in (
        ("one", 3, (0, 1)),
        ("one", 2, (0,)),
        ("one", 1, (0,)),
        ("one", 2, (1,)),
        ("one", 4, (0,)),
        ("one", -1, (0,)),
        ("", -1, (0,)),
        ("nobody", 3, (0,)),
        ("two", 2, (1,)),
        ("two", 3, (1,)),
    ):
        ask(commits(ask, name, topic, member, epoch, *partitions))
    if ask.version >= 7:
        ask(commits(ask, name, topic, "one", 3, 0, instance="i"))


@case(ApiKey.OFFSET_COMMIT)
def while_partitions_are_given_back(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    ask.quietly(joins(name, "one", topic), BEAT)
    ask.quietly(joins(name, "two", topic), BEAT)
    ask.quietly(beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0, 1]})), BEAT)
    ask(commits(ask, name, topic, "one", 2, 0, 1))
    ask(commits(ask, name, topic, "one", 1, 1))
    ask(commits(ask, name, topic, "two", 3, 1))


@case(ApiKey.OFFSET_COMMIT)
def of_an_empty_consumer_group(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    ask.quietly(joins(name, "one", topic), BEAT)
    ask.quietly(beats(name, "one", -1), BEAT)
    ask(commits(ask, name, topic, "", -1))
    ask(commits(ask, name, topic, "one", 2))


@case(ApiKey.OFFSET_FETCH)
def of_a_member(ask: Ask) -> None:
    topic, name = reconciled_pair(ask)
    ask.quietly(commits(ask, name, topic, "one", 3, 0), 9)
    ask(fetches(ask, name, topic))
    if ask.version >= 9:
        for member, epoch in (("one", 3), ("one", 2), ("one", 4), ("nobody", 3), ("", 3), ("one", -1)):
            ask(fetches(ask, name, topic, member, epoch))
        ask(fetches(ask, ask.name("missing"), topic, "one", 3))
        for epoch in (-1, 0, 3):
            ask(fetches(ask, name, topic, None, epoch))


@case(ApiKey.TXN_OFFSET_COMMIT, since=3)
def of_a_consumer_group(ask: Ask) -> None:
    """Refused before the transaction is asked about or not at all: which producer it is does not matter."""
    topic, name = reconciled_pair(ask)
    for member, epoch, partition in (("one", 4, 0), ("one", 1, 0), ("one", 2, 1), ("nobody", 3, 0)):
        offsets = [TxnOffsetCommitRequestPartition(partition, 5, -1, "")]
        topics = [TxnOffsetCommitRequestTopic(**ask.reference(topic, 6, "name"), partitions=offsets)]
        ask(TxnOffsetCommitRequest(ask.name("txn"), name, 1, 0, epoch, member, None, topics))


@case(ApiKey.OFFSET_DELETE)
def of_topics_that_are_read(ask: Ask) -> None:
    topic, name = reconciled_pair(ask)
    other = ask.topic("other")
    ask.quietly(commits(ask, name, topic, "one", 3, 0), 9)
    ask.quietly(commits(ask, name, other, "one", 3, 0), 9)
    topics = [OffsetDeleteRequestTopic(of, [OffsetDeleteRequestPartition(0)]) for of in (topic, other)]
    ask(OffsetDeleteRequest(name, topics))
    ask.quietly(beats(name, "one", -1), BEAT)
    ask.quietly(beats(name, "two", -1), BEAT)
    ask(OffsetDeleteRequest(name, topics))


@case(ApiKey.DELETE_GROUPS)
def consumer_groups_with_offsets(ask: Ask) -> None:
    topic, name = reconciled_pair(ask)
    ask.quietly(commits(ask, name, topic, "one", 3, 0), 9)
    ask(DeleteGroupsRequest([name]))
    ask.quietly(beats(name, "one", -1), BEAT)
    ask.quietly(beats(name, "two", -1), BEAT)
    ask(DeleteGroupsRequest([name]))
    topics = [OffsetFetchRequestTopics(topic, ask.topic_ids[topic], [0])]
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(name, None, -1, topics)]), 9)
    ask(DeleteGroupsRequest([name]))
