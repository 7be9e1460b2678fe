"""Consumer groups on a manual clock and a made-up metadata image, and members that behave as clients do."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pykbroker.coordination.groups.consumer import requests
from pykbroker.coordination.groups.consumer.checking import check_request
from pykbroker.coordination.groups.consumer.describing import described
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import MemberState
from pykbroker.coordination.groups.consumer.settings import ConsumerSettings
from pykbroker.metadata.image import GROUP_RESOURCE, PartitionImage, TopicImage
from pykbroker.tests.coordination.groups.harness import Harness, context
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from pykbroker.wire.internal.consumer_protocol_subscription import TopicPartition as OwnedPartition
from pykbroker.wire.internal.coordinator import encode_versioned
from pykbroker.wire.messages.consumer_group_describe import DescribedGroup
from pykbroker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

SESSION_MS = 45_000
REBALANCE_MS = 60_000

Partitions = set[tuple[str, int]]


class ConsumerHarness(Harness):
    """Topics are made with ``topic``; targets are computed as soon as they are wanted, unless a test says otherwise."""

    def __init__(self, **consumer: object) -> None:
        super().__init__()
        self.settings.of_kinds[ConsumerSettings] = ConsumerSettings(**consumer)  # type: ignore[arg-type]
        self.set_group("consumer.assignment.interval.ms", "0")

    def set_group(self, name: str, value: str, group_id: str = GROUP) -> None:
        self.around.image.configs.setdefault((GROUP_RESOURCE, group_id), {})[name] = value

    # Topics

    def topic(self, name: str, partitions: int) -> bytes:
        """Create a topic, or give one more partitions."""
        image = self.around.image
        known = image.topics.get(name)
        image.offset += 1
        topic_id = bytes([image.offset % 251 + 1]) * 16 if known is None else known.id
        made = {index: PartitionImage(index, [1], [1], 1, 0, 0, []) for index in range(partitions)}
        image.topics[name] = image.topics_by_id[topic_id] = TopicImage(name, topic_id, made)
        if known is None:
            self.around.topics_created_at = image.offset
        for _ in self.shard.topics_changed([name]):
            pass
        return topic_id

    def delete_topic(self, name: str) -> None:
        image = self.around.image
        image.offset += 1
        del image.topics_by_id[image.topics.pop(name).id]
        for _ in self.shard.topics_changed([name]):
            pass

    def by_id(self, owned: Partitions) -> list[TopicPartitions]:
        """Partitions of topics by name, as requests have them."""
        topics: dict[bytes, list[int]] = {}
        for name, index in sorted(owned):
            topic_id = self.around.topic_id(name)
            if topic_id is not None:
                topics.setdefault(topic_id, []).append(index)
        return [TopicPartitions(topic_id, indexes) for topic_id, indexes in topics.items()]

    def by_name(self, topics: list[TopicPartitions]) -> Partitions:
        named = ((self.around.topic_name(topic.topic_id), topic.partitions) for topic in topics)
        return {(name, index) for name, indexes in named if name is not None for index in indexes}

    # What is seen from outside

    def described(self) -> DescribedGroup:
        """As ConsumerGroupDescribe shows the group; "Dead" where there is none, or it is a classic one."""
        group = self.shard.groups.get(GROUP)
        return described(group) if isinstance(group, ConsumerGroup) else DescribedGroup(group_state="Dead")

    def epoch(self) -> int:
        """The group epoch, as it is shown; the first one where there is no group."""
        return max(self.described().group_epoch, 1)

    # Requests

    @property
    def consumers(self) -> ConsumerGroup:
        group = self.shard.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    def beat(
        self,
        member_id: str,
        epoch: int,
        topics: list[str] | None = None,
        *,
        owned: Partitions | None = None,
        version: int = 1,
        **stated: object,
    ) -> ConsumerGroupHeartbeatResponse:
        """One heartbeat. Raises KafkaError."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=member_id,
            member_epoch=epoch,
            subscribed_topic_names=topics,
            topic_partitions=None if owned is None else self.by_id(owned),
            **stated,  # type: ignore[arg-type]
        )
        check_request(request, version, self.settings.of(ConsumerSettings))
        return self.decide(requests.heartbeat(self.shard, context(version), request)).value

    def commit_in_transaction(self, member_id: str, epoch: int) -> ErrorCode:
        """An offset of t-1, committed in a transaction."""
        topics = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(1, 7)])]
        request = TxnOffsetCommitRequest("tx", GROUP, 7, 0, epoch, member_id, None, topics)
        answer = self.decide(self.shard.commit_in_transaction(request))
        return ErrorCode(answer.value.topics[0].partitions[0].error_code)

    def fetch_as(self, member_id: str | None, epoch: int) -> ErrorCode:
        """All offsets of the group, asked for by a member."""
        return ErrorCode(self.shard.fetch(OffsetFetchRequestGroup(GROUP, member_id, epoch, None)).error_code)

    def enter(self, member_id: str, *topics: str, **stated: object) -> ConsumerGroupHeartbeatResponse:
        """The first heartbeat of a member."""
        options = {"rebalance_timeout_ms": REBALANCE_MS, "owned": set(), **stated}
        return self.beat(member_id, 0, list(topics), **options)  # type: ignore[arg-type]

    def refusal(self, member_id: str, epoch: int, *topics: str, **stated: object) -> tuple[ErrorCode, str]:
        """Why a heartbeat is refused."""
        try:
            answer = self.beat(member_id, epoch, list(topics) or None, **stated)  # type: ignore[arg-type]
        except KafkaError as error:
            return error.code, error.message
        raise AssertionError(f"it was accepted: {answer}")


class Client:
    """A member that reports what it has, gives back what it is asked for, and uses what it is given."""

    def __init__(self, harness: ConsumerHarness, member_id: str, *topics: str, instance_id: str | None = None) -> None:
        self.h = harness
        self.member_id = member_id
        self.instance_id = instance_id
        self.topics = list(topics)
        self.epoch = 0
        self.owned: Partitions = set()
        #: What it owned when it left.
        self.left_with: Partitions = set()
        #: When the group last heard of it, in monotonic seconds, and whether it was then asked to give something back.
        self.heard = 0.0
        self.must_give_back = False

    def beat(self, *, loses_answer: bool = False, says_nothing: bool = False) -> ErrorCode:
        """One heartbeat with all that the member knows, as clients send them, or with its name alone. A member that is
        fenced begins anew.
        """
        known: dict[str, Any] = {"topics": self.topics, "owned": self.owned, "rebalance_timeout_ms": REBALANCE_MS}
        try:
            answer = self.h.beat(
                self.member_id, self.epoch, instance_id=self.instance_id, **({} if says_nothing else known)
            )
        except KafkaError as error:
            if error.code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
                self.forget()
            return error.code
        self.heard = self.h.clock.monotonic()
        self.must_give_back = self.h.consumers.members[self.member_id].state is MemberState.UNREVOKED_PARTITIONS
        if not loses_answer:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.owned = self.h.by_name(answer.assignment.topic_partitions)
        return ErrorCode.NONE

    def forget(self) -> None:
        """Let go of everything, to begin anew."""
        self.epoch = 0
        self.owned = set()

    def leave(self, epoch: int = -1) -> None:
        """Go. That the group does not know the member any more is as good."""
        with suppress(KafkaError):
            self.h.beat(self.member_id, epoch, instance_id=self.instance_id)
        self.left_with = self.owned
        self.forget()


def settle(*clients: Client, rounds: int = 8) -> None:
    """Let all clients beat until nothing changes any more."""
    for _ in range(rounds):
        before = [(client.epoch, client.owned) for client in clients]
        for client in clients:
            client.beat()
        if before == [(client.epoch, client.owned) for client in clients]:
            return
    raise AssertionError("the group does not settle")


def subscription(*topics: str, owned: Partitions | None = None) -> bytes:
    """What a classic consumer says of itself in JoinGroup."""
    partitions: dict[str, list[int]] = {}
    for topic, index in sorted(owned or set()):
        partitions.setdefault(topic, []).append(index)
    said = [OwnedPartition(topic, indexes) for topic, indexes in partitions.items()]
    return encode_versioned(ConsumerProtocolSubscription(list(topics), None, said, -1, None), 3)


def assignment(partitions: Partitions, user_data: bytes | None = None) -> bytes:
    """What a leader assigns to a classic consumer."""
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    given = [TopicPartition(topic, indexes) for topic, indexes in topics.items()]
    return encode_versioned(ConsumerProtocolAssignment(given, user_data), 3)


def assigned_in(data: bytes) -> Partitions:
    decoded, _ = ConsumerProtocolAssignment.decode(data, 2, int.from_bytes(data[:2], "big"))
    return {(topic.topic, index) for topic in decoded.assigned_partitions for index in topic.partitions}


def persisted(group: ConsumerGroup) -> tuple[object, ...]:
    """All of a group that its records hold."""
    return (
        group.epoch,
        group.metadata_hash,
        group.target_epoch,
        group.target_timestamp_ms,
        dict(group.members),
        dict(group.targets),
        dict(group.regexes),
        group.state,
    )
