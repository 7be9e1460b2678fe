"""Requests to one group of a broker, in the short form that pykbroker's own tests of consumer groups use for a group in
the same process (``ConsumerHarness``). Topics and the group have names of their own on the broker.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from compat_tests.oracle.requests import Ask
from pykbroker.metadata.image import GROUP_RESOURCE
from pykbroker.tests.coordination.groups.consumer.harness import REBALANCE_MS, Partitions
from pykbroker.tests.coordination.groups.harness import SESSION_MS
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup
from pykbroker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
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
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from pykbroker.wire.messages.sync_group import SyncGroupRequest
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

_LIMIT_S = 10.0
#: How long a pattern of a few topics takes to be matched, at most.
_MATCHED_S = 2.0
_COMMITS = "commits"


class Answered:
    """A Deferred that is done."""

    def __init__(self, value: Any) -> None:
        self.value = value


class RemoteGroup:
    """See the module. Refusals of whole requests are raised as KafkaError where ``ConsumerHarness`` raises them."""

    def __init__(self, ask: Ask, name: str) -> None:
        self._ask = ask
        self._group = name
        self._partitions: dict[str, int] = {}
        self._ids: dict[str, bytes] = {}

    # Topics and settings

    def _topic(self, name: str) -> str:
        return f"{self._group}-{name}"

    def topic(self, name: str, partitions: int) -> bytes:
        """Create a topic, or give one more partitions, and wait until groups know."""
        topic = self._topic(name)
        if name not in self._partitions:
            self._ask.prefix = self._group
            self._ask.topic(name, partitions)
        else:
            request = CreatePartitionsRequest([CreatePartitionsTopic(topic, partitions, None)], 10_000)
            assert self._ask.quietly(request, 3).results[0].error_code == 0
        self._partitions[name] = partitions
        self._ids[name] = self._ask.learn(topic)
        self._until_seen(topic, partitions)
        return self._ids[name]

    def delete_topic(self, name: str) -> None:
        request = DeleteTopicsRequest([DeleteTopicState(self._topic(name))], [], 10_000)
        assert self._ask.quietly(request, 6).responses[0].error_code == 0
        self._until_seen(self._topic(name), 0)

    def _until_seen(self, topic: str, partitions: int) -> None:
        """Until the coordinator assigns all partitions of a topic to a new group of one member."""

        def seen() -> bool:
            group = f"{self._group}-sees-{time.monotonic_ns()}"
            request = ConsumerGroupHeartbeatRequest(group, "m", 0, None, None, REBALANCE_MS, [topic])
            request.topic_partitions = []
            answer = self._ask.quietly(request, 1)
            assert answer.error_code == 0, answer
            request.member_epoch = -1
            self._ask.quietly(request, 1)
            return sum(len(each.partitions) for each in answer.assignment.topic_partitions) == partitions

        _until(seen)

    def set_group(self, name: str, value: str) -> None:
        """Set something for the group, and wait until its members are told of another setting that goes with it."""
        settings = [AlterableConfig(name, 0, value), AlterableConfig("consumer.heartbeat.interval.ms", 0, "6000")]
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(GROUP_RESOURCE, self._group, settings)])
        assert self._ask.quietly(request, 1).responses[0].error_code == 0
        member = self.described().members[0]

        def reported() -> bool:
            answer = self.beat(member.member_id, member.member_epoch, instance_id=member.instance_id)
            return answer.heartbeat_interval_ms == 6000

        _until(reported)

    # What is seen from outside

    def described(self) -> DescribedGroup:
        found = self._ask.quietly(ConsumerGroupDescribeRequest([self._group]), 1).groups[0]
        return DescribedGroup(group_state="Dead") if found.error_code else found

    def epoch(self) -> int:
        return max(self.described().group_epoch, 1)

    # The consumer protocol

    def beat(
        self,
        member_id: str,
        epoch: int,
        topics: list[str] | None = None,
        *,
        owned: Partitions | None = None,
        **stated: Any,
    ) -> ConsumerGroupHeartbeatResponse:
        if "subscribed_topic_regex" in stated:
            stated["subscribed_topic_regex"] = self._topic(stated["subscribed_topic_regex"])
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=member_id,
            member_epoch=epoch,
            subscribed_topic_names=None if topics is None else [self._topic(topic) for topic in topics],
            topic_partitions=None if owned is None else self._by_id(owned),
            **stated,
        )
        answer = _good(self._ask.quietly(request, 1))
        if request.subscribed_topic_regex:
            # Patterns are matched in a thread after the answer; the topics found are one more epoch, which is assigned later.
            with suppress(AssertionError):
                _until(lambda: self.described().group_state == "Assigning", _MATCHED_S)
        return answer

    def _by_id(self, owned: Partitions) -> list[TopicPartitions]:
        topics: dict[bytes, list[int]] = {}
        for name, index in sorted(owned):
            topics.setdefault(self._ids.get(name, b"\1" * 16), []).append(index)
        return [TopicPartitions(topic_id, indexes) for topic_id, indexes in topics.items()]

    def enter(self, member_id: str, *topics: str, **stated: Any) -> ConsumerGroupHeartbeatResponse:
        options = {"rebalance_timeout_ms": REBALANCE_MS, "owned": set(), **stated}
        return self.beat(member_id, 0, list(topics), **options)

    # The classic protocol

    def join(
        self,
        member_id: str = "",
        *,
        protocols: dict[str, bytes],
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
    ) -> Answered:
        offered = [JoinGroupRequestProtocol(name, self._renamed(data)) for name, data in protocols.items()]
        request = JoinGroupRequest(self._group, session_ms, rebalance_ms, member_id, None, protocol_type, offered)
        return Answered(self._ask.quietly(request, 9))

    def _renamed(self, data: bytes) -> bytes:
        """A subscription with the names that topics have on the broker."""
        from pykbroker.coordination.groups.consumer.embedded_protocol import read_subscription
        from pykbroker.tests.coordination.groups.consumer.harness import subscription

        if not data:
            return data
        said = read_subscription(data)
        owned = {(self._topic(each.topic), index) for each in said.owned_partitions for index in each.partitions}
        return subscription(*(self._topic(topic) for topic in said.topics), owned=owned)

    def sync(self, member_id: str, *, generation: int, **stated: Any) -> Answered:
        named = {"protocol_type": "consumer", "protocol_name": "range", **stated}
        request = SyncGroupRequest(group_id=self._group, generation_id=generation, member_id=member_id, **named)
        return Answered(self._ask.quietly(request, 5))

    def heartbeat(self, member_id: str, *, generation: int) -> ErrorCode:
        return ErrorCode(self._ask.quietly(HeartbeatRequest(self._group, generation, member_id), 4).error_code)

    def leave(self, *members: str | tuple[str, str | None]) -> LeaveGroupResponse:
        named = [(member, None) if isinstance(member, str) else member for member in members]
        identities = [MemberIdentity(member_id=m, group_instance_id=i) for m, i in named]
        return self._ask.quietly(LeaveGroupRequest(self._group, members=identities), 5)

    # Offsets

    def commit(
        self,
        offsets: dict[tuple[str, int], int],
        member_id: str = "",
        generation: int = -1,
        *,
        instance_id: str | None = None,
        version: int = 9,
        topic_id: bytes = b"",
    ) -> ErrorCode:
        del topic_id  # topics go by their names
        ((name, index), offset) = next(iter(offsets.items()))
        partitions = [OffsetCommitRequestPartition(index, offset, committed_metadata="")]
        topics = [OffsetCommitRequestTopic(name=self._topic(name), partitions=partitions)]
        request = OffsetCommitRequest(self._group, generation, member_id, instance_id, topics=topics)
        return ErrorCode(self._ask.quietly(request, version).topics[0].partitions[0].error_code)

    def commit_in_transaction(self, member_id: str, epoch: int) -> ErrorCode:
        transactional_id = f"{self._group}-{_COMMITS}"
        producer = _until(lambda: self._producer(transactional_id))
        topics = [
            TxnOffsetCommitRequestTopic(topic_id=self._ids["t"], partitions=[TxnOffsetCommitRequestPartition(1, 7)])
        ]
        request = TxnOffsetCommitRequest(
            transactional_id,
            self._group,
            *producer,
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            topics=topics,
        )
        return ErrorCode(self._ask.quietly(request, 6).topics[0].partitions[0].error_code)

    def _producer(self, transactional_id: str) -> tuple[int, int] | None:
        if self._ask.quietly(FindCoordinatorRequest(transactional_id, 1), 3).error_code:
            return None
        answer = self._ask.quietly(InitProducerIdRequest(transactional_id, 60_000), 4)
        return None if answer.error_code else (answer.producer_id, answer.producer_epoch)

    def fetch_as(self, member_id: str | None, epoch: int) -> ErrorCode:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(self._group, member_id, epoch, None)])
        return ErrorCode(self._ask.quietly(request, 9).groups[0].error_code)

    def delete_offset(self, topic: str, index: int) -> ErrorCode:
        topics = [OffsetDeleteRequestTopic(self._topic(topic), [OffsetDeleteRequestPartition(index)])]
        answer = _good(self._ask.quietly(OffsetDeleteRequest(self._group, topics), 0))
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def delete_group(self) -> ErrorCode:
        return ErrorCode(self._ask.quietly(DeleteGroupsRequest([self._group]), 2).results[0].error_code)


def _good(answer: Any) -> Any:
    if answer.error_code:
        raise KafkaError(ErrorCode(answer.error_code))
    return answer


def _until(done: Callable[[], Any], limit_s: float = _LIMIT_S) -> Any:
    """What ``done`` returns once it is true of anything."""
    deadline = time.monotonic() + limit_s
    while not (result := done()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return result
