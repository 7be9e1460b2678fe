from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")
pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pykbroker.lake.direct import reading
from pykbroker.lake.direct.batches import Piece
from pykbroker.lake.direct.columns import ALL, Columns
from pykbroker.lake.direct.log_files import LogFiles
from pykbroker.lake.direct.reading import Manner, read_piece
from pykbroker.lake.errors import DataLost, LakeError
from pykbroker.storage.checkpoints import encode_partition_metadata
from pykbroker.tests.lake.direct.folders import log_of
from pykbroker.wire.batch_header import HEADER_SIZE, TimestampType, patch_timestamps, write_batch_header
from pykbroker.wire.records import Compression, Record, encode_batch, read_batch_header

EVERYTHING = Columns((*ALL, "headers"))


def written(first: int, count: int = 3, **options: Any) -> bytes:
    records = [Record(-1, 1000 + number, b"k%d" % (number % 2), b"v%d" % number) for number in range(count)]
    return bytes(encode_batch(records, base_offset=first, **options))


def rows(
    log: LogFiles, columns: Columns, start: int = 0, until: int | None = None, **manner: Any
) -> list[dict[str, Any]]:
    piece = Piece(log, start, log.high_watermark if until is None else until)
    return [row for batch in read_piece(piece, Manner(columns, **manner)) for row in batch.to_pylist()]


@pytest.mark.parametrize("codec", list(Compression))
def test_all_columns_are_what_was_written(tmp_path: Path, codec: Compression) -> None:
    log = log_of(tmp_path, [written(0), written(3, compression=codec)])
    found = rows(log, EVERYTHING)
    assert [row["offset"] for row in found] == list(range(6))
    assert [row["value"] for row in found] == [b"v0", b"v1", b"v2"] * 2
    assert {(row["topic"], row["partition"], row["timestampType"], row["headers"]) for row in found} == {
        ("flights", 3, 0, None)
    }
    assert [row["timestamp"].timestamp() for row in found] == [1.0, 1.001, 1.002] * 2
    assert tuple(found[0]) == EVERYTHING.names


def test_a_batch_that_holds_much_more_than_usual_is_decompressed(tmp_path: Path) -> None:
    value = bytes(1 << 20)
    log = log_of(tmp_path, [encode_batch([Record(0, 1, None, value)], compression=Compression.ZSTD)])
    assert rows(log, Columns(("value",))) == [{"value": value}]


def test_what_lies_outside_of_the_range_is_left_out(tmp_path: Path) -> None:
    log = log_of(tmp_path, [written(0), written(3)], [written(6)])
    for columns in (Columns(("offset",)), Columns(("offset", "value"))):
        assert [row["offset"] for row in rows(log, columns, 1, 7)] == [1, 2, 3, 4, 5, 6]


def test_small_and_large_chunks_are_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = log_of(tmp_path, [written(3 * number) for number in range(40)])
    wanted = rows(log, EVERYTHING)
    monkeypatch.setattr(reading, "_CHUNK_BYTES", 100)
    assert rows(log, EVERYTHING) == wanted
    assert len(wanted) == 120


def test_offsets_are_counted_where_none_is_missing_and_read_where_one_is(tmp_path: Path) -> None:
    """Records that cannot be decoded show which of the two is done."""
    compacted = bytes(encode_batch([Record(3, 1), Record(6, 1)], base_offset=3))
    log = log_of(tmp_path, [written(0), compacted, written(7)])
    assert [row["offset"] for row in rows(log, Columns(("offset",)))] == [0, 1, 2, 3, 6, 7, 8, 9]
    log = log_of(tmp_path, [unreadable(written(0))])
    assert rows(log, Columns(("offset", "timestampType"))) == [
        {"offset": each, "timestampType": 0} for each in range(3)
    ]
    with pytest.raises(LakeError, match="batch at offset 0"):
        rows(log, Columns(("offset", "timestamp")))
    log = log_of(tmp_path, [unreadable(written(0, append_time=7000))])
    assert [row["timestamp"].timestamp() for row in rows(log, Columns(("timestamp",)))] == [7.0] * 3


def unreadable(batch: bytes) -> bytes:
    """With records that are none, and the checksum of these."""
    damaged = bytearray(batch)
    damaged[HEADER_SIZE] = 1
    write_batch_header(damaged, 0, read_batch_header(batch))
    return bytes(damaged)


def test_the_batch_that_is_malformed_is_named_with_its_file(tmp_path: Path) -> None:
    log = log_of(tmp_path, [written(0), unreadable(written(3)), written(6)])
    message = r"flights-3: the batch at offset 3 in .*/00000000000000000000\.log: the length of a record is negative\."
    with pytest.raises(LakeError, match=message):
        rows(log, EVERYTHING)


def test_a_checksum_that_does_not_fit_is_told_whatever_is_read(tmp_path: Path) -> None:
    damaged = bytearray(written(3))
    damaged[-1] ^= 1
    log = log_of(tmp_path, [written(0), damaged])
    for columns in (EVERYTHING, Columns(("offset",))):
        with pytest.raises(LakeError, match=r"batch at offset 3 in .*0\.log: it is damaged: its checksum does not fit"):
            rows(log, columns)


def test_damaged_compression_is_told(tmp_path: Path) -> None:
    batch = bytearray(written(0, 50, compression=Compression.LZ4))
    batch[HEADER_SIZE + 8 : HEADER_SIZE + 12] = bytes(4)
    write_batch_header(batch, 0, read_batch_header(batch))
    with pytest.raises(LakeError, match=r"batch at offset 0 in .*0\.log: .*lz4"):
        rows(log_of(tmp_path, [batch]), EVERYTHING)


def test_an_incomplete_last_batch_is_not_read(tmp_path: Path) -> None:
    """While the broker writes it, it is above the high watermark. Below, its records are lost."""
    log = log_of(tmp_path, [written(0), written(3)])
    path = log.file(0, ".log")
    path.write_bytes(path.read_bytes() + written(6)[:-5])
    offsets = Columns(("offset",))
    assert [row["offset"] for row in rows(log, offsets, 0, 6)] == list(range(6))
    with pytest.raises(DataLost, match="flights-3: the offsets 6 to 8 are no longer in "):
        rows(log, offsets, 0, 9)
    assert [row["offset"] for row in rows(log, offsets, 0, 9, fail_on_data_loss=False)] == list(range(6))


def test_a_topic_that_is_made_anew_between_plan_and_task_is_told_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "partition.metadata").write_bytes(encode_partition_metadata(bytes(16)))
    log = replace(log_of(tmp_path, [written(0), written(3)]), topic_id="AAECAwQFBgcICQoLDA0ODw")
    with pytest.raises(
        DataLost, match="AAECAwQFBgcICQoLDA0ODw when the query was planned: the topic was deleted and made anew"
    ):
        rows(log, EVERYTHING)
    assert rows(log, EVERYTHING, fail_on_data_loss=False) == []


def test_a_time_that_spark_cannot_say_is_told_where_it_is_asked_for(tmp_path: Path) -> None:
    batch = bytearray(written(0))
    patch_timestamps(batch, 0, len(batch), TimestampType.LOG_APPEND_TIME, 1 << 60)
    log = log_of(tmp_path, [batch])
    with pytest.raises(LakeError, match="offset 0 has the timestamp 1152921504606846976, which no timestamp of Spark"):
        rows(log, EVERYTHING)
    assert len(rows(log, Columns(("value",)))) == 3


def test_of_each_key_the_newest_that_is_read_stays(tmp_path: Path) -> None:
    """The key itself need not be asked for, and what lies behind the range supersedes nothing."""
    log = log_of(
        tmp_path, [written(0), written(3)], [bytes(encode_batch([Record(6, 1, None, b"no key")], base_offset=6))]
    )
    assert [row["offset"] for row in rows(log, Columns(("offset",)), newest_of_key=True)] == [4, 5, 6]
    assert [row["offset"] for row in rows(log, Columns(("offset",)), 0, 5, newest_of_key=True)] == [3, 4]
