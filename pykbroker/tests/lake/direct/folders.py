"""A partition's directory as a broker would leave it, for tests of who reads it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pykbroker.lake.direct.log_files import LogFiles
from pykbroker.lake.ledger import LakePartition
from pykbroker.wire.batch_header import read_batch_header


def log_of(folder: Path, *segments: Iterable[bytes], index_every: int = 1) -> LogFiles:
    """Segments of whole batches. Every so many batches have an entry in the index, behind which lie zeros."""
    end = 0
    start = None
    for batches in segments:
        written = [bytes(batch) for batch in batches]
        base = read_batch_header(written[0]).base_offset
        entries = bytearray()
        position = 0
        for number, data in enumerate(written):
            end = read_batch_header(data).last_offset + 1
            if number and number % index_every == 0:
                entries += (end - 1 - base).to_bytes(4, "big") + position.to_bytes(4, "big")
            position += len(data)
        (folder / f"{base:020d}.log").write_bytes(b"".join(written))
        (folder / f"{base:020d}.index").write_bytes(entries + bytes(64))
        start = base if start is None else start
    return LogFiles(LakePartition("flights", 3), str(folder), start or 0, end)
