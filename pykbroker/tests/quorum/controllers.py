"""Controllers of another make, as a model: a metadata log with elections, uncommitted tails and snapshots, asked by messages on the wire.

Rules: KafkaRaftClient and KafkaMetadataLog of Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pykbroker.metadata.batches import decode_batches, encode_controls, encode_records
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.loading import Loader
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.metadata.snapshot import SnapshotId, encode_snapshot
from pykbroker.quorum.observer import Address
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.control_records import ControlRecordType
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord
from pykbroker.wire.internal.leader_change_message import LeaderChangeMessage
from pykbroker.wire.message import Message
from pykbroker.wire.messages import fetch, fetch_snapshot
from pykbroker.wire.messages.fetch import FetchRequest, FetchResponse
from pykbroker.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
NODES = {1: Address("c1", 9093), 2: Address("c2", 9093), 3: Address("c3", 9093)}


class Batch(NamedTuple):
    """Of the log: ``end`` is the offset after it."""

    epoch: int
    base: int
    end: int
    data: bytes


class Pending(NamedTuple):
    """A request that has not been answered."""

    address: Address
    request: Message
    response: type[Message]
    answer: Deferred[Any]


class Controllers:
    """See ``quorum.observing.Nodes``: what is asked waits for ``answer``. The log is that of the leader, from its first record on, of which
    it serves what is from ``start`` on.
    """

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.start = 0
        self.snapshot: SnapshotId | None = None
        self.snapshot_data = b""
        self.high_watermark = 0
        self.epoch = 0
        self.leader_id = 1
        #: Nodes that do not answer.
        self.down: set[int] = set()
        #: Requests that have come and are not answered, and all that ever came.
        self.pending: list[Pending] = []
        self.asked: list[Message] = []
        self._level = 0
        self.elect(1)

    # -- the log ------------------------------------------------------------------------------------------------------

    @property
    def end(self) -> int:
        return self.batches[-1].end if self.batches else 0

    def append(self, *records: MetadataRecord) -> None:
        """One batch, uncommitted."""
        data = encode_records(records, base_offset=self.end, epoch=self.epoch, timestamp=self.end)
        self.batches.append(Batch(self.epoch, self.end, self.end + len(records), data))

    def level(self) -> FeatureLevelRecord:
        """A record that no other is like."""
        self._level += 1
        return FeatureLevelRecord(name=f"feature{self._level % 5}", feature_level=self._level)

    def elect(self, leader_id: int, lost: int = 0) -> None:
        """Another leader, which does not have the last ``lost`` uncommitted batches."""
        for _ in range(lost):
            if self.batches and self.batches[-1].base >= self.high_watermark:
                self.batches.pop()
        self.epoch += 1
        self.leader_id = leader_id
        change = (ControlRecordType.LEADER_CHANGE, LeaderChangeMessage(leader_id=leader_id), 0)
        data = encode_controls([change], base_offset=self.end, epoch=self.epoch, timestamp=self.end)
        self.batches.append(Batch(self.epoch, self.end, self.end + 1, data))

    def commit(self) -> None:
        self.high_watermark = self.end

    def take_snapshot(self, *, drop: bool = True) -> None:
        """A snapshot of what is committed; the log before it is no longer served."""
        last = [each for each in self.batches if each.end <= self.high_watermark][-1]
        image = self.image(last.end)
        records = [FeatureLevelRecord(name=name, feature_level=level) for name, level in image.features.items()]
        self.snapshot = SnapshotId(last.end, last.epoch)
        self.snapshot_data = encode_snapshot(records, epoch=last.epoch, last_contained_ms=last.base, now_ms=last.base)
        if drop:
            self.start = last.end

    def image(self, end: int) -> MetadataImage:
        """What the log gives below ``end``."""
        image = MetadataImage(CLUSTER)
        loader = Loader(image, lambda kind, value: None)
        for batch in self.batches:
            if batch.end <= end:
                for each in decode_batches(batch.data):
                    loader.apply(each)
        return image

    def data(self, start: int, end: int | None = None) -> bytes:
        """The bytes of the log from ``start`` on."""
        return b"".join(each.data for each in self.batches if each.base >= start and (end is None or each.end <= end))

    def _end_of_epoch(self, epoch: int) -> tuple[int, int]:
        found = [each for each in self.batches if each.epoch <= epoch]
        return (found[-1].epoch, found[-1].end) if found else (epoch, 0)

    # -- requests -----------------------------------------------------------------------------------------------------

    def ask(self, address: Address, request: Any, response: Any, limit_ms: float, lowest: int = 0) -> Deferred[Any]:
        answer: Deferred[Any] = Deferred()
        version = request.VERSIONS[1]
        out = bytearray()
        request.encode(out, version)
        came = type(request).decode(bytes(out), 0, version)[0]
        self.asked.append(came)
        self.pending.append(Pending(address, came, response, answer))
        return answer

    def answer(self, change: Callable[[Any], None] = lambda response: None) -> None:
        """Answer the first request, after ``change`` of the answer."""
        asked = self.pending.pop(0)
        node = next(node for node, address in NODES.items() if address == asked.address)
        if node in self.down:
            asked.answer.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION, "it does not answer"))
            return
        if isinstance(asked.request, FetchRequest):
            response: Message = self._fetch(node, asked.request)
        else:
            assert isinstance(asked.request, FetchSnapshotRequest)
            response = self._fetch_snapshot(node, asked.request)
        change(response)
        version = asked.request.VERSIONS[1]
        out = bytearray()
        response.encode(out, version)
        asked.answer.complete(asked.response.decode(bytes(out), 0, version)[0])

    def lose(self) -> None:
        """The connection of the first request breaks."""
        self.pending.pop(0).answer.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION, "the connection broke"))

    def _fetch(self, node: int, request: FetchRequest) -> FetchResponse:
        asked = request.topics[0].partitions[0]
        if request.cluster_id != CLUSTER:
            return FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
        data = fetch.PartitionData(
            partition_index=0,
            high_watermark=self.high_watermark,
            current_leader=fetch.LeaderIdAndEpoch(self.leader_id, self.epoch),
            error_code=self._refusal(node, asked.current_leader_epoch),
        )
        if not data.error_code:
            self._serve(asked.fetch_offset, asked.last_fetched_epoch, data)
        nodes = [fetch.NodeEndpoint(node_id=each, host=at.host, port=at.port) for each, at in NODES.items()]
        topic = fetch.FetchableTopicResponse(topic_id=request.topics[0].topic_id, partitions=[data])
        return FetchResponse(responses=[topic], node_endpoints=nodes)

    def _refusal(self, node: int, epoch: int) -> int:
        if epoch != self.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH if epoch < self.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if node == self.leader_id else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _serve(self, offset: int, epoch: int, data: Any) -> None:
        if self.snapshot is not None and not offset == epoch == self.start == 0:
            before = offset < self.start or (epoch < self.snapshot.epoch and self.start)
            if before or (offset == self.start == self.snapshot.offset and epoch != self.snapshot.epoch):
                data.snapshot_id = fetch.SnapshotId(*self.snapshot)
                return
        if offset:
            own_epoch, own_end = self._end_of_epoch(epoch)
            if own_epoch != epoch or own_end < offset:
                data.diverging_epoch = fetch.EpochEndOffset(own_epoch, own_end)
                return
        data.records = self.data(offset)

    def _fetch_snapshot(self, node: int, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
        asked = request.topics[0].partitions[0]
        leader = fetch_snapshot.LeaderIdAndEpoch(self.leader_id, self.epoch)
        found = fetch_snapshot.FetchSnapshotResponsePartitionSnapshot(
            index=0,
            current_leader=leader,
            error_code=self._refusal(node, asked.current_leader_epoch),
            unaligned_records=b"",
        )
        wanted = SnapshotId(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
        if not found.error_code and wanted != self.snapshot:
            found.error_code = ErrorCode.SNAPSHOT_NOT_FOUND
        if not found.error_code:
            found.snapshot_id = fetch_snapshot.FetchSnapshotResponseSnapshotId(*wanted)
            found.size, found.position = len(self.snapshot_data), asked.position
            found.unaligned_records = self.snapshot_data[asked.position : asked.position + request.max_bytes]
        topic = fetch_snapshot.FetchSnapshotResponseTopicSnapshot(name="__cluster_metadata", partitions=[found])
        return FetchSnapshotResponse(topics=[topic])
