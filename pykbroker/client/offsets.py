"""Offsets of partitions: log start and end, by timestamp, and committed by a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from pykbroker.client.client import Client
from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import raise_for
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from pykbroker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)

LATEST = -1
EARLIEST = -2
NOT_COMMITTED = -1

_GROUPS_IN_OFFSET_FETCH_SINCE = 8
# the last version of OffsetFetch and OffsetCommit with topic names; later ones have topic ids
_HIGHEST_WITH_TOPIC_NAMES = 9
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
"""Isolation levels: whether records of open and aborted transactions are seen."""


class TopicPartition(NamedTuple):
    """A partition of a topic; sorts by name, then number."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


def chosen_partitions(client: Client, choice: str) -> tuple[list[TopicPartition], set[TopicPartition]]:
    """The partitions that ``TOPIC`` (all of them) or ``TOPIC:0,1`` names, and those among them that do not exist.

    Raises ValueError for another form, and KafkaError UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist.
    """
    topic, separator, numbers = choice.partition(":")
    known = [TopicPartition(topic, each.partition_index) for each in client.topic(topic).partitions]
    if not separator:
        return known, set()
    try:
        chosen = [TopicPartition(topic, int(number)) for number in numbers.split(",")]
    except ValueError:
        raise ValueError(f"{choice!r} is not TOPIC or TOPIC:0,1,2.") from None
    return chosen, set(chosen).difference(known)


def list_offsets(
    client: Client, wanted: Mapping[TopicPartition, int], *, isolation: int = READ_UNCOMMITTED
) -> dict[TopicPartition, int]:
    """Return the offset for each partition's timestamp: LATEST, EARLIEST, or milliseconds.

    It is -1 if no record is that late. Raises the KafkaError of the response.
    """
    return client.retrying(lambda: _list_offsets(client, wanted, isolation)) if wanted else {}


def existing_ends(
    client: Client, partitions: Iterable[TopicPartition], *, isolation: int = READ_UNCOMMITTED
) -> dict[TopicPartition, int]:
    """Return end offsets, without those of partitions that do not exist (any more). Raises the KafkaError of the response."""
    ends: dict[TopicPartition, int] = {}
    wanted = set(partitions)
    for topic in {partition.topic for partition in wanted}:
        try:
            there = {TopicPartition(topic, each.partition_index) for each in client.topic(topic).partitions}
            ends |= list_offsets(client, dict.fromkeys(there & wanted, LATEST), isolation=isolation)
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
    return ends


def _list_offsets(client: Client, wanted: Mapping[TopicPartition, int], isolation: int) -> dict[TopicPartition, int]:
    by_leader: dict[BrokerConnection, dict[str, list[ListOffsetsPartition]]] = defaultdict(lambda: defaultdict(list))
    for (topic, index), timestamp in wanted.items():
        asked = ListOffsetsPartition(partition_index=index, timestamp=timestamp)
        by_leader[client.leader(topic, index)][topic].append(asked)
    found = {}
    for connection, topics in by_leader.items():
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation,
            topics=[ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        )
        for topic_answer in connection.call(request, ListOffsetsResponse).topics:
            for answer in topic_answer.partitions:
                raise_for(answer.error_code)
                found[TopicPartition(topic_answer.name, answer.partition_index)] = answer.offset
    return found


def committed_offsets(client: Client, group: str) -> dict[TopicPartition, int]:
    """Return all committed offsets of ``group``; none for a group that does not exist.

    Raises the KafkaError of the response.
    """

    def ask() -> dict[TopicPartition, int]:
        connection = client.coordinator(group)
        request = OffsetFetchRequest()
        if connection.version(request.API_KEY, _HIGHEST_WITH_TOPIC_NAMES) >= _GROUPS_IN_OFFSET_FETCH_SINCE:
            request.groups = [OffsetFetchRequestGroup(group_id=group, topics=None)]
        else:
            request.group_id, request.topics = group, None
        answer = connection.call(request, OffsetFetchResponse, _HIGHEST_WITH_TOPIC_NAMES)
        raise_for(answer.error_code)
        offsets = {}
        parts: list[OffsetFetchResponse | OffsetFetchResponseGroup] = [*answer.groups] or [answer]
        for part in parts:
            raise_for(part.error_code)
            for topic in part.topics:
                for partition in topic.partitions:
                    raise_for(partition.error_code)
                    if partition.committed_offset != NOT_COMMITTED:
                        offsets[TopicPartition(topic.name, partition.partition_index)] = partition.committed_offset
        return offsets

    return client.retrying(ask)


def commit_offsets(
    client: Client, group: str, offsets: Mapping[TopicPartition, int], *, generation: int = -1, member: str = ""
) -> None:
    """Commit ``offsets`` for ``group``, as a member or, if the group has none, without one.

    Raises the KafkaError of the response.
    """
    if not offsets:
        return
    topics = [
        OffsetCommitRequestTopic(
            name=topic,
            partitions=[
                OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
                for index, offset in partitions
            ],
        )
        for topic, partitions in by_topic(offsets.items())
    ]
    request = OffsetCommitRequest(
        group_id=group, generation_id_or_member_epoch=generation, member_id=member, topics=topics
    )

    def commit() -> None:
        answer = client.coordinator(group).call(request, OffsetCommitResponse, _HIGHEST_WITH_TOPIC_NAMES)
        for topic in answer.topics:
            for partition in topic.partitions:
                raise_for(partition.error_code)

    client.retrying(commit)


def by_topic(items: Iterable[tuple[TopicPartition, int]]) -> list[tuple[str, list[tuple[int, int]]]]:
    """Group (partition, number) pairs by topic: the topic, then (index, number) pairs."""
    grouped: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for (topic, index), number in items:
        grouped[topic].append((index, number))
    return list(grouped.items())


class Bounds:
    """Log start and end offsets of partitions; brokers are asked once, when an offset is first needed."""

    def __init__(self, client: Client, partitions: Iterable[TopicPartition]) -> None:
        self._client = client
        self._partitions = tuple(partitions)

    @cached_property
    def start(self) -> dict[TopicPartition, int]:
        """Return the log start offset of each."""
        return self._at(EARLIEST)

    @cached_property
    def end(self) -> dict[TopicPartition, int]:
        """Return the end offset of each: LATEST of ListOffsets."""
        return self._at(LATEST)

    def inside(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the offsets, clamped to the log: at least its start, at most its end."""
        return {each: min(max(offset, self.start[each]), self.end[each]) for each, offset in wanted.items()}

    def since(self, timestamp_ms: int) -> dict[TopicPartition, int]:
        """Return the first offset at or after the time (milliseconds); the end if there is none."""
        found = self._at(timestamp_ms)
        return {each: offset if offset >= 0 else self.end[each] for each, offset in found.items()}

    def _at(self, timestamp: int) -> dict[TopicPartition, int]:
        return list_offsets(self._client, dict.fromkeys(self._partitions, timestamp))
