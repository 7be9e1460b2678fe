"""What the store's tests share: a manager over a simulated disk, and batches to append."""

from __future__ import annotations

import random
from pathlib import Path

from pykbroker.runtime.clock import ManualClock
from pykbroker.storage.checkpoints import PARTITION_METADATA, decode_partition_metadata
from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import AppendResult, Log
from pykbroker.storage.log.validate import Origin
from pykbroker.wire.compression import Compression
from pykbroker.wire.control_records import EndTxnMarker, encode_end_txn_batch
from pykbroker.wire.records import Record, decode_records, encode_batch
from pykbroker.worlds.disk import SimulatedDisk

TOPIC_ID = bytes(range(16))
START_MS = 1_700_000_000_000


class Store:
    """A log directory that can be stopped, killed, and opened again."""

    def __init__(self, seed: int = 0) -> None:
        self.disk = SimulatedDisk()
        self.clock = ManualClock(START_MS)
        self.random = random.Random(seed)
        self.manager = self.start()

    def start(self) -> LogManager:
        self.manager = LogManager(
            Path("/data"), self.disk, self.clock, node_id=1, cluster_id="4L6g3nShT-eMCtK--X86sw", random=self.random
        )
        self.manager.load()
        return self.manager

    def log(self, config: LogConfig | None = None, topic: str = "t", topic_id: bytes = TOPIC_ID) -> Log:
        return self.manager.open(topic, topic_id, 0, config or LogConfig())

    def make_room(self, topic: str) -> None:
        """As before a topic is made whose name another one had."""
        make_room = self.manager.directories.plan_room([(topic, 0)])
        if make_room is not None:
            make_room()

    def topic_id_on_disk(self, topic: str = "t") -> bytes:
        """Whose the partition's files are, as they say themselves. Raises CorruptCheckpointError or FileNotFoundError."""
        return decode_partition_metadata(self.disk.read(f"/data/{topic}-0/{PARTITION_METADATA}"))

    def stop(self) -> None:
        self.manager.shutdown()

    def lose_power(self) -> None:
        self.disk.crash(self.random)


def batch(
    values: list[bytes | None],
    *,
    keys: list[bytes | None] | None = None,
    timestamp: int = START_MS,
    compression: Compression = Compression.NONE,
    producer: tuple[int, int, int] | None = None,
    transactional: bool = False,
) -> bytearray:
    """One batch as a client sends it; ``producer`` is (id, epoch, first sequence)."""
    producer_id, epoch, sequence = producer or (-1, -1, -1)
    keys = keys or [None] * len(values)
    return bytearray(
        encode_batch(
            [
                Record(timestamp=timestamp + number, key=key, value=value)
                for number, (key, value) in enumerate(zip(keys, values, strict=True))
            ],
            compression=compression,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
    )


def append(
    log: Log,
    data: bytes | bytearray,
    *,
    epoch: int = 0,
    now_ms: int = START_MS,
    committed: bool = True,
    usual: bool = False,
) -> AppendResult:
    """Append as the leader, for a client; it is ``committed`` at once where there is one replica. With ``usual``, ``append_usual`` may
    take it.
    """
    first = log.append_usual(memoryview(data), epoch, now_ms) if usual else -1
    if first >= 0:
        result = AppendResult(first, log.log_end_offset - 1, -1, log.log_start_offset)
    else:
        result = log.append_as_leader(data, leader_epoch=epoch, now_ms=now_ms)
    if committed:
        log.commit_to(log.log_end_offset)
    return result


def append_marker(
    log: Log, producer_id: int, epoch: int, *, commit: bool, coordinator_epoch: int = 0, committed: bool = True
) -> AppendResult:
    """End a transaction, as its coordinator does."""
    data = encode_end_txn_batch(
        EndTxnMarker(commit, coordinator_epoch), producer_id=producer_id, producer_epoch=epoch, timestamp=START_MS
    )
    result = log.append_as_leader(data, leader_epoch=0, now_ms=START_MS, origin=Origin.COORDINATOR)
    if committed:
        log.commit_to(log.log_end_offset)
    return result


def contents(log: Log) -> list[tuple[int, bytes | None]]:
    """(offset, value) of every record but control records, through plans as fetches make them."""
    found: list[tuple[int, bytes | None]] = []
    offset = log.log_start_offset
    while (plan := log.plan_read(offset, 1000)) is not None:
        data = plan.read()
        if not data:
            break
        position = 0
        while position < len(data):
            size = int.from_bytes(data[position + 8 : position + 12], "big") + 12
            control = data[position + 22] & 0x20
            records = decode_records(bytes(data[position : position + size]))
            delta = int.from_bytes(data[position + 23 : position + 27], "big")
            base = int.from_bytes(data[position : position + 8], "big")
            if not control:
                found += [(record.offset, record.value) for record in records if record.offset >= offset]
            position += size
            following = base + delta + 1
        offset = following
    return found
