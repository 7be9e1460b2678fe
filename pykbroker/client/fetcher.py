"""Reads partitions from their leaders in parallel, with one fetch in flight to each leader."""

from __future__ import annotations

import select
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from pykbroker.client.aborted import without_aborted
from pykbroker.client.client import Client
from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import Unreachable
from pykbroker.client.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, TopicPartition, list_offsets
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError, error_code
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import Record, batch_crc_ok, decode_records, read_batch_header

_HIGHEST_WITH_TOPIC_NAMES = 12  # the last version with topic names; later ones have topic ids
_MAX_BYTES = 32 * 1024 * 1024
_MAX_PARTITION_BYTES = 1024 * 1024
_CONSUMER = -1  # replica id of consumers


@dataclass
class Fetched:
    """Records of one partition in order, and the position to continue from."""

    partition: TopicPartition
    records: list[Record]
    next_offset: int


class Fetcher:
    """Reads on from ``positions``, which advance with what ``poll`` returns."""

    def __init__(self, client: Client, *, committed_only: bool = False) -> None:
        self.positions: dict[TopicPartition, int] = {}
        self._client = client
        self._isolation = READ_COMMITTED if committed_only else READ_UNCOMMITTED
        self._connections: dict[int, BrokerConnection] = {}
        self._in_flight: dict[int, dict[TopicPartition, int]] = {}
        self.skipped: list[TopicPartition] = []
        """Partitions whose position had no record any more; they went on at the nearest. The caller may clear it."""

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets from now on, and no others."""
        self.positions = dict(positions)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._in_flight.clear()

    def poll(self, wait_s: float) -> list[Fetched]:
        """Return what arrives within ``wait_s``.

        Raises the KafkaError of a response, and Unreachable if a leader stays away.
        """
        if not self.positions:
            return []
        self._client.retrying(lambda: self._ask(wait_s))
        waiting = [self._connections[node] for node in self._in_flight]
        ready, _, _ = select.select(waiting, [], [], wait_s)
        fetched = [self._receive(node) for node in list(self._in_flight) if self._connections[node] in ready]
        return list(chain.from_iterable(fetched))

    def _ask(self, wait_s: float) -> None:
        """Send a fetch to every leader that has none in flight."""
        by_leader: dict[int, dict[TopicPartition, int]] = defaultdict(dict)
        for partition, offset in self.positions.items():
            by_leader[self._client.leader_id(*partition)][partition] = offset
        for node, wanted in by_leader.items():
            if node in self._in_flight:
                continue
            if node not in self._connections or self._connections[node].broken:
                self._connections[node] = self._client.open(node)
            self._connections[node].send(self._request(wanted, wait_s), _HIGHEST_WITH_TOPIC_NAMES)
            self._in_flight[node] = wanted

    def _request(self, wanted: Mapping[TopicPartition, int], wait_s: float) -> FetchRequest:
        topics: dict[str, list[FetchPartition]] = defaultdict(list)
        for partition, offset in wanted.items():
            asked = FetchPartition(
                partition=partition.number, fetch_offset=offset, partition_max_bytes=_MAX_PARTITION_BYTES
            )
            topics[partition.topic].append(asked)
        return FetchRequest(
            replica_id=_CONSUMER,
            max_wait_ms=int(wait_s * 1000),
            min_bytes=1,
            max_bytes=_MAX_BYTES,
            isolation_level=self._isolation,
            topics=[FetchTopic(topic=name, partitions=partitions) for name, partitions in topics.items()],
        )

    def _receive(self, node: int) -> list[Fetched]:
        asked = self._in_flight.pop(node)
        try:
            answer = self._connections[node].receive(FetchResponse)
        except Unreachable:
            self._client.forget_leaders()  # the next poll tries again, and gives up at the time limit
            return []
        if answer.error_code:
            raise KafkaError(error_code(answer.error_code))
        fetched = []
        for topic in answer.responses:
            for data in topic.partitions:
                partition = TopicPartition(topic.topic, data.partition_index)
                if self.positions.get(partition) != asked.get(partition):
                    continue  # it was unassigned, or its position set, while the fetch was in flight
                if data.error_code:
                    self._recover(partition, error_code(data.error_code))
                elif data.records:
                    found = _read(partition, data, self.positions[partition], self._isolation)
                    self.positions[partition] = found.next_offset
                    fetched.append(found)
        return fetched

    def _recover(self, partition: TopicPartition, code: ErrorCode) -> None:
        """Refresh leaders or reset the position after a retriable error.

        Raises the KafkaError of ``code`` for any other.
        """
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            start = list_offsets(self._client, {partition: EARLIEST})[partition]
            end = list_offsets(self._client, {partition: LATEST})[partition]
            self.positions[partition] = min(max(self.positions[partition], start), end)
            self.skipped.append(partition)
        elif code.retriable:
            self._client.forget_leaders()
            self._client.topic(partition.topic)  # raises if the partition was deleted
        else:
            raise KafkaError(code)


def _read(partition: TopicPartition, data: PartitionData, position: int, isolation: int) -> Fetched:
    """Return the records from ``position`` on; a response may begin inside a batch and end with an incomplete one."""
    buffers = data.records
    records: list[Record] = []
    assert buffers is not None
    joined: Buffer = b"".join(buffers) if isinstance(buffers, list) else buffers
    batches = []
    at = 0
    while len(joined) - at >= 61:
        header = read_batch_header(joined, at)
        if header.size > len(joined) - at:
            break
        if not batch_crc_ok(joined, at, header.size):
            raise WireError(f"The batch at offset {header.base_offset} of {partition} arrived damaged")
        batches.append((header, joined[at : at + header.size]))
        at += header.size
        position_after = header.last_offset + 1
    if not batches:
        return Fetched(partition, [], position)
    if isolation == READ_COMMITTED:
        batches = without_aborted(batches, data.aborted_transactions or [])
    for header, batch in batches:
        if not header.is_control:
            records += (r for r in decode_records(batch, header=header) if r.offset >= position)
    return Fetched(partition, records, position_after)
