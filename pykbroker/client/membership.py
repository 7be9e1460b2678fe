"""Membership in a consumer group by the classic protocol, so that several terminals can share a topic.

Joins, syncs, sends heartbeats between fetches, commits and leaves. The assignor is "range", which every client has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.client.offsets import TopicPartition, commit_offsets
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment
from pykbroker.wire.internal.consumer_protocol_assignment import TopicPartition as AssignedTopic
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from pykbroker.wire.internal.coordinator import decode_versioned, encode_versioned
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

_PROTOCOL_TYPE = "consumer"
_ASSIGNOR = "range"
_SESSION_TIMEOUT_MS = 45_000
_REBALANCE_TIMEOUT_MS = 60_000
_HEARTBEAT_INTERVAL_S = 3.0
_MEMBERS_IN_LEAVE_SINCE = 3
_PROTOCOL_IN_SYNC_SINCE = 5
_LOST = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID}


class GroupMembership:
    """One member of ``group``. ``client`` must not be shared: JoinGroup keeps its connection waiting."""

    def __init__(self, client: Client, group: str, topics: list[str]) -> None:
        self._client = client
        self._group = group
        self._topics = sorted(topics)
        self._member_id = ""
        self._generation = -1
        self._heartbeat_due = 0.0

    def join(self) -> list[TopicPartition]:
        """Join, or rejoin after a rebalance began; returns the assigned partitions.

        Raises the KafkaError of the response.
        """
        while True:
            try:
                joined = self._client.retrying(self._join)
                assignment = self._client.retrying(lambda: self._sync(joined))  # noqa: B023 - called at once
            except KafkaError as error:
                if error.code in _LOST:
                    self._member_id = ""
                elif error.code is not ErrorCode.REBALANCE_IN_PROGRESS:
                    raise
                continue
            self._heartbeat_due = self._client.clock.monotonic() + _HEARTBEAT_INTERVAL_S
            return sorted(
                TopicPartition(t.topic, index) for t in assignment.assigned_partitions for index in t.partitions
            )

    def still_in(self) -> bool:
        """Send a heartbeat if one is due; False if the member must rejoin."""
        if self._client.clock.monotonic() < self._heartbeat_due:
            return True
        self._heartbeat_due = self._client.clock.monotonic() + _HEARTBEAT_INTERVAL_S
        try:
            self._client.retrying(self._heartbeat)
        except KafkaError as error:
            if error.code in _LOST:
                self._member_id = ""
            elif error.code is not ErrorCode.REBALANCE_IN_PROGRESS:
                raise
            return False
        return True

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit as this member.

        Raises the KafkaError of the response: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION and the like after a rebalance.
        """
        commit_offsets(self._client, self._group, offsets, generation=self._generation, member=self._member_id)

    def limit_patience(self, patience_s: float) -> None:
        """Prepare for a quick end, perhaps amid a request: reconnect, and wait no longer than this."""
        self._client.close()
        self._client.timeout_s = min(self._client.timeout_s, patience_s)

    def leave(self) -> None:
        """Leave the group, so that the coordinator need not wait for the session timeout."""
        if not self._member_id:
            return
        connection = self._client.coordinator(self._group)
        request = LeaveGroupRequest(group_id=self._group)
        if connection.version(request.API_KEY) >= _MEMBERS_IN_LEAVE_SINCE:
            request.members = [MemberIdentity(member_id=self._member_id)]
        else:
            request.member_id = self._member_id
        connection.call(request, LeaveGroupResponse)
        self._member_id = ""

    def _join(self) -> JoinGroupResponse:
        subscription = encode_versioned(ConsumerProtocolSubscription(topics=self._topics), 0)
        request = JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=_SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=_REBALANCE_TIMEOUT_MS,
            member_id=self._member_id,
            protocol_type=_PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=_ASSIGNOR, metadata=subscription)],
        )
        connection = self._client.coordinator(self._group)
        connection.send(request)
        answer = connection.receive(JoinGroupResponse, timeout_s=_REBALANCE_TIMEOUT_MS / 1000)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:  # KIP-394: join again with the member id given
            self._member_id = answer.member_id
            return self._join()
        raise_for(answer.error_code)
        self._member_id, self._generation = answer.member_id, answer.generation_id
        return answer

    def _sync(self, joined: JoinGroupResponse) -> ConsumerProtocolAssignment:
        assignments = []
        if joined.leader == joined.member_id and not joined.skip_assignment:
            assignments = self._assign(joined)
        request = SyncGroupRequest(
            group_id=self._group,
            generation_id=self._generation,
            member_id=self._member_id,
            assignments=assignments,
        )
        connection = self._client.coordinator(self._group)
        if connection.version(request.API_KEY) >= _PROTOCOL_IN_SYNC_SINCE:
            request.protocol_type, request.protocol_name = _PROTOCOL_TYPE, joined.protocol_name
        answer = connection.call(request, SyncGroupResponse)
        raise_for(answer.error_code)
        return (
            decode_versioned(ConsumerProtocolAssignment, answer.assignment)
            if answer.assignment
            else ConsumerProtocolAssignment()
        )

    def _assign(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """Return all members' assignments; the leader of the group computes them."""
        subscribed = {
            member.member_id: decode_versioned(ConsumerProtocolSubscription, member.metadata).topics
            for member in joined.members
        }
        wanted = sorted({topic for topics in subscribed.values() for topic in topics})
        counts = {topic.name or "": len(topic.partitions) for topic in self._client.metadata(wanted).topics}
        return [
            SyncGroupRequestAssignment(member_id=member_id, assignment=_encoded(partitions))
            for member_id, partitions in range_assignment(subscribed, counts).items()
        ]

    def _heartbeat(self) -> None:
        request = HeartbeatRequest(group_id=self._group, generation_id=self._generation, member_id=self._member_id)
        answer = self._client.coordinator(self._group).call(request, HeartbeatResponse)
        if answer.error_code:
            raise KafkaError(error_code(answer.error_code))


def range_assignment(
    subscribed: Mapping[str, Iterable[str]], counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """Assign each topic's partitions in even ranges to its subscribers, ordered by member id, as Kafka's RangeAssignor.

    ``subscribed`` gives each member's topics, ``counts`` each topic's number of partitions.
    """
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in subscribed}
    by_topic: dict[str, list[str]] = defaultdict(list)
    for member in sorted(subscribed):
        for topic in subscribed[member]:
            by_topic[topic].append(member)
    for topic, members in sorted(by_topic.items()):
        each, more = divmod(counts.get(topic, 0), len(members))
        start = 0
        for place, member in enumerate(members):
            end = start + each + (1 if place < more else 0)
            assigned[member] += (TopicPartition(topic, index) for index in range(start, end))
            start = end
    return assigned


def _encoded(partitions: list[TopicPartition]) -> bytes:
    topics: dict[str, list[int]] = defaultdict(list)
    for topic, index in partitions:
        topics[topic].append(index)
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[AssignedTopic(topic=topic, partitions=indexes) for topic, indexes in topics.items()]
    )
    return encode_versioned(assignment, 0)
