"""OffsetCommit, OffsetFetch, OffsetDelete."""

from __future__ import annotations

from typing import Any

from compat_tests.oracle.cases import case
from compat_tests.oracle.cases.groups import LEAVE, enter, settled_group, subscription
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.join_group import JoinGroupRequestProtocol
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
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

IDS_FROM = 10
KEPT_FOR_MS = 2_592_000_000


def commit(
    ask: Ask,
    group: str,
    topic: str,
    offset: int = 5,
    *,
    partition: int = 0,
    generation: int = -1,
    member: str = "",
    **options: Any,
) -> OffsetCommitRequest:
    metadata = options.pop("metadata", "note")
    epoch = options.pop("epoch", -1)
    part = OffsetCommitRequestPartition(partition, offset, epoch, metadata)
    topics = [OffsetCommitRequestTopic(partitions=[part], **ask.reference(topic, IDS_FROM, "name"))]
    return OffsetCommitRequest(group, generation, member, topics=topics, **options)


def committed(
    ask: Ask, group: str, topic: str | None, *partitions: int, version: int | None = None, **options: Any
) -> None:
    """Asks for committed offsets; of all topics where ``topic`` is None."""
    version = ask.version if version is None else version
    if version < 8:
        topics = None if topic is None else [OffsetFetchRequestTopic(topic, list(partitions))]
        ask(OffsetFetchRequest(group, topics, **options), version)
        return
    reference = {}
    if topic is not None:
        reference = {"topic_id": ask.topic_ids.get(topic, bytes(range(16)))} if version >= IDS_FROM else {"name": topic}
    topics = None if topic is None else [OffsetFetchRequestTopics(partition_indexes=list(partitions), **reference)]
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=topics)], **options), version)


# ---- OffsetCommit


@case(ApiKey.OFFSET_COMMIT)
def without_a_member(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), ask.name("group")
    ask(commit(ask, group, topic))
    ask(commit(ask, group, topic, 7, partition=1, metadata=None))
    committed(ask, group, topic, 0, 1, version=7)
    ask(commit(ask, group, topic, 3, metadata=""))
    committed(ask, group, topic, 0, version=7)


@case(ApiKey.OFFSET_COMMIT, since=6)
def with_leader_epochs(ask: Ask) -> None:
    topic, group = ask.topic(), ask.name("group")
    ask(commit(ask, group, topic, epoch=4))
    committed(ask, group, topic, 0, version=7)


@case(ApiKey.OFFSET_COMMIT)
def refused(ask: Ask) -> None:
    topic, group = ask.topic(), ask.name("group")
    ask(commit(ask, group, ask.name("none")))
    ask(commit(ask, group, topic, partition=7))
    ask(commit(ask, group, topic, partition=-1))
    ask(commit(ask, group, topic, metadata="x" * 4097))
    ask(commit(ask, group, topic, metadata="x" * 4096))
    ask(commit(ask, "", topic))
    ask(commit(ask, group, topic, -1))
    ask(commit(ask, group, topic, -7))
    ask(commit(ask, group, topic, generation=3, member="nobody"))
    ask(commit(ask, group, topic, generation=-1, member="nobody"))
    if ask.version < IDS_FROM:
        ask(commit(ask, group, "no spaces"))


@case(ApiKey.OFFSET_COMMIT)
def by_members(ask: Ask) -> None:
    topic = ask.topic()
    group, member = settled_group(ask)
    ask(commit(ask, group, topic, generation=1, member=member))
    ask(commit(ask, group, topic, generation=2, member=member))
    ask(commit(ask, group, topic, generation=0, member=member))
    ask(commit(ask, group, topic, generation=1, member="nobody"))
    ask(commit(ask, group, topic))
    committed(ask, group, topic, 0, version=7)


@case(ApiKey.OFFSET_COMMIT)
def before_the_assignment(ask: Ask) -> None:
    topic, group = ask.topic(), ask.name("group")
    ask(commit(ask, group, topic, generation=1, member=enter(ask, group)))


@case(ApiKey.OFFSET_COMMIT, since=7)
def by_static_members(ask: Ask) -> None:
    topic = ask.topic()
    group, member = settled_group(ask, group_instance_id="machine")
    ask(commit(ask, group, topic, generation=1, member=member, group_instance_id="machine"))
    ask(commit(ask, group, topic, generation=1, member="other", group_instance_id="machine"))
    ask(commit(ask, group, topic, generation=1, member=member, group_instance_id="nobody"))


@case(ApiKey.OFFSET_COMMIT, until=4)
def with_a_retention_of_its_own(ask: Ask) -> None:
    topic, group = ask.topic(), ask.name("group")
    ask(commit(ask, group, topic, retention_time_ms=KEPT_FOR_MS))
    committed(ask, group, topic, 0, version=7)


@case(ApiKey.OFFSET_COMMIT)
def of_nothing(ask: Ask) -> None:
    ask(OffsetCommitRequest(ask.name("group"), -1, "", topics=[]))


# ---- OffsetFetch


@case(ApiKey.OFFSET_FETCH)
def of_a_group(ask: Ask) -> None:
    topic, group = ask.topic(partitions=3), ask.name("group")
    version, ask.version = ask.version, 9
    for partition in (0, 2):
        ask.quietly(commit(ask, group, topic, 5 + partition, partition=partition, epoch=1), 9)
    ask.version = version
    committed(ask, group, topic, 0, 1, 2, 9)
    committed(ask, group, ask.name("none"), 0)
    committed(ask, ask.name("nobody"), topic, 0)
    committed(ask, "", topic, 0)


@case(ApiKey.OFFSET_FETCH, since=2)
def of_everything(ask: Ask) -> None:
    topic, group = ask.topic(), ask.name("group")
    version, ask.version = ask.version, 9
    ask.quietly(commit(ask, group, topic), 9)
    ask.version = version
    committed(ask, group, None)
    committed(ask, ask.name("nobody"), None)


@case(ApiKey.OFFSET_FETCH, since=7)
def of_what_is_stable(ask: Ask) -> None:
    committed(ask, ask.name("group"), ask.topic(), 0, require_stable=True)


@case(ApiKey.OFFSET_FETCH, since=8)
def of_several_groups(ask: Ask) -> None:
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(ask.name(what), topics=None) for what in ("a", "b")]))
    ask(OffsetFetchRequest(groups=[]))


@case(ApiKey.OFFSET_FETCH, since=9)
def as_an_unknown_member(ask: Ask) -> None:
    group, member = settled_group(ask)
    for who, epoch in (("nobody", 1), (member, 7), (member, 1)):
        ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, who, epoch, None)]))


# ---- OffsetDelete


@case(ApiKey.OFFSET_DELETE)
def deleted(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), ask.name("group")
    version, ask.version = ask.version, 9
    ask.quietly(commit(ask, group, topic), 9)
    ask.version = version

    def delete(where: str, *partitions: int, of: str = group) -> OffsetDeleteRequest:
        parts = [OffsetDeleteRequestPartition(partition) for partition in partitions]
        return OffsetDeleteRequest(of, [OffsetDeleteRequestTopic(where, parts)])

    ask(delete(topic, 0, 1, 9))
    committed(ask, group, topic, 0, version=7)
    ask(delete(ask.name("none"), 0))
    ask(delete(topic, 0, of=ask.name("nobody")))
    ask(delete(topic, 0, of=""))


@case(ApiKey.OFFSET_DELETE)
def of_a_group_in_use(ask: Ask) -> None:
    topic = ask.topic()
    group, _ = settled_group(ask)
    ask(OffsetDeleteRequest(group, [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])]))


@case(ApiKey.OFFSET_DELETE)
def of_what_members_read(ask: Ask) -> None:
    read, unread = ask.topic("read"), ask.topic("unread")
    protocols = [JoinGroupRequestProtocol("range", subscription(read))]
    group, member = settled_group(ask, protocols=protocols)
    both = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)]) for topic in (read, unread)]
    for topic in (read, unread):
        wanted = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 5)])
        ask.quietly(OffsetCommitRequest(group, 1, member, topics=[wanted]), 8)
    ask(OffsetDeleteRequest(group, both))
    committed(ask, group, read, 0, version=7)
    committed(ask, group, unread, 0, version=7)
    ask(OffsetDeleteRequest(group, []))
    ask.quietly(LeaveGroupRequest(group, members=[MemberIdentity(member)]), LEAVE)
    ask(OffsetDeleteRequest(group, both))
    committed(ask, group, read, 0, version=7)


@case(ApiKey.OFFSET_DELETE)
def of_groups_that_are_no_consumers(ask: Ask) -> None:
    topic = ask.topic()
    protocols = [JoinGroupRequestProtocol("default", b"opaque")]
    group, member = settled_group(ask, protocol_type="connect", protocols=protocols)
    request = OffsetDeleteRequest(group, [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])])
    ask(request)
    ask.quietly(LeaveGroupRequest(group, members=[MemberIdentity(member)]), LEAVE)
    ask(request)
