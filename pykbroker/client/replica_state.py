"""The replicas of partitions and their state: in sync, eligible to lead (KIP-966), offline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, raise_for
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)

_PAGE = 2000


@dataclass(frozen=True)
class Replicas:
    """One partition. The eligible leader replicas are None if the broker is too old to report them."""

    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]
    elr: list[int] | None = None
    last_known_elr: list[int] | None = None

    @property
    def under_replicated(self) -> bool:
        return len(self.isr) < len(self.replicas)

    @property
    def unavailable(self) -> bool:
        return self.leader < 0 or self.leader in self.offline


def read_replicas(client: Client, names: Iterable[str], *, may_lack: bool = False) -> dict[str, dict[int, Replicas]]:
    """Return the partitions of each topic by number.

    Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION for a missing topic, unless ``may_lack``; ClientError if the pages have no end.
    """
    names = sorted(names)
    if not names:
        return {}
    if client.any().supports(ApiKey.DESCRIBE_TOPIC_PARTITIONS):
        return _by_pages(client, names, may_lack=may_lack)
    found: dict[str, dict[int, Replicas]] = {}
    for topic in client.metadata(names).topics:
        if may_lack and topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            continue
        raise_for(topic.error_code)
        found[topic.name or ""] = {
            p.partition_index: Replicas(p.leader_id, p.leader_epoch, p.replica_nodes, p.isr_nodes, p.offline_replicas)
            for p in topic.partitions
        }
    return found


def _by_pages(client: Client, names: list[str], *, may_lack: bool) -> dict[str, dict[int, Replicas]]:
    """Describe topics in pages: a response has a limited number of partitions, and a cursor to the next one."""
    found: dict[str, dict[int, Replicas]] = {name: {} for name in names}
    cursor: Cursor | None = None
    shown = -1
    while True:
        if sum(map(len, found.values())) == shown:
            raise ClientError("The broker answers the same page of partitions again and again.")
        shown = sum(map(len, found.values()))
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names], response_partition_limit=_PAGE, cursor=cursor
        )
        answer = client.any().call(request, DescribeTopicPartitionsResponse)
        for topic in answer.topics:
            if may_lack and topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue
            raise_for(topic.error_code)
            for p in topic.partitions:
                found[topic.name or ""][p.partition_index] = Replicas(
                    p.leader_id,
                    p.leader_epoch,
                    p.replica_nodes,
                    p.isr_nodes,
                    p.offline_replicas,
                    p.eligible_leader_replicas,
                    p.last_known_elr,
                )
        if answer.next_cursor is None:
            return found
        cursor = answer.next_cursor
