"""Ways to decode record batches into Arrow columns, on one core without Spark: the candidates for the direct source."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from pykbroker.lake.direct.decoding import decode
from pykbroker.wire.batch_header import HEADER_SIZE, BatchHeader, iter_batches
from pykbroker.wire.compression import decompress
from pykbroker.wire.records import decode_records

Batches = list[tuple[BatchHeader, bytes]]
_ENOUGH_BYTES = 8 << 20  # a chunk of the direct source


def ways(partition: Path) -> None:
    """Measure the processor time of each with the first batches of a partition."""
    batches = _first_batches(partition)
    count = sum(header.record_count for header, _ in batches)
    plain = [_uncompressed(header, payload) for header, payload in batches]
    found: dict[str, Callable[[], object]] = {
        "Python's loop and pyarrow's builders": lambda: _with_builders(plain),
        "numpy, all columns": lambda: decode(batches),
        "numpy, offsets and timestamps alone": lambda: decode(batches, ()),
    }
    print("| decoding without decompression, one core | records/s |\n|---|---|")
    for name, way in found.items():
        best = min(_seconds(way) for _ in range(3))
        print(f"| {name} | {count / best:,.0f} |")


def _seconds(way: Callable[[], object]) -> float:
    begun = time.process_time()
    way()
    return time.process_time() - begun


def _with_builders(batches: list[bytes]) -> list[pa.RecordBatch]:
    found = []
    for data in batches:
        records = decode_records(data)
        columns = {
            "key": pa.array([record.key for record in records], pa.binary()),
            "value": pa.array([record.value for record in records], pa.binary()),
            "offset": pa.array([record.offset for record in records], pa.int64()),
            "timestamp": pa.array([record.timestamp for record in records], pa.int64()),
        }
        found.append(pa.RecordBatch.from_pydict(columns))
    return found


def _first_batches(partition: Path) -> Batches:
    data = min(partition.glob("*.log")).read_bytes()
    found: Batches = []
    size = 0
    for pos, header in iter_batches(data):
        found.append((header, decompress(header.compression, data[pos + HEADER_SIZE : pos + header.size])))
        size += len(found[-1][1])
        if size >= _ENOUGH_BYTES:
            break
    return found


def _uncompressed(header: BatchHeader, payload: bytes) -> bytes:
    """Return the batch uncompressed; its checksum is not updated, since nothing checks it here."""
    from dataclasses import replace

    from pykbroker.wire.batch_header import write_batch_header

    plain = bytearray(HEADER_SIZE) + payload
    length = len(plain) - 12
    write_batch_header(plain, 0, replace(header, batch_length=length, attributes=header.attributes & ~7))
    return bytes(plain)
