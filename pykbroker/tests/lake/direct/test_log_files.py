from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pykbroker.lake.direct.log_files import RecreatedTopic, as_readable, find_logs, headers_from, position_of
from pykbroker.lake.errors import LakeError, Missing
from pykbroker.lake.ledger import LakePartition
from pykbroker.storage.checkpoints import encode_offsets, encode_partition_metadata
from pykbroker.tests.lake.direct.folders import log_of
from pykbroker.wire.records import Record, encode_batch

OLD, NEW = bytes(16), bytes(range(16))


def batches(first: int, count: int) -> list[bytes]:
    return [bytes(encode_batch([Record(value=b"x")], base_offset=first + number)) for number in range(count)]


def test_a_high_watermark_beyond_the_files_is_lowered_to_the_log_end_offset(tmp_path: Path) -> None:
    """Kafka's checkpoint has that of the old topic for some seconds after a topic was made anew."""
    log = log_of(tmp_path, batches(0, 5), batches(5, 3))
    assert as_readable(replace(log, high_watermark=500)).high_watermark == 8
    for watermark in (8, 7, 5, 3):
        assert as_readable(replace(log, high_watermark=watermark)).high_watermark == watermark
    path = log.file(5, ".log")
    path.write_bytes(path.read_bytes()[:-1])  # the last batch is being written
    assert as_readable(log).high_watermark == 7
    path.write_bytes(b"")
    assert as_readable(log).high_watermark == 5


def test_a_log_without_segments_ends_where_it_starts(tmp_path: Path) -> None:
    log = log_of(tmp_path, batches(4, 1))
    log.file(4, ".log").unlink()
    assert as_readable(replace(log, high_watermark=500)).high_watermark == 4


def test_zeros_after_the_entries_of_an_index_are_none(tmp_path: Path) -> None:
    log = log_of(tmp_path, batches(0, 9))
    index = log.file(0, ".index")
    size = log.file(0, ".log").stat().st_size // 9
    assert [position_of(log, 0, offset) for offset in (0, 3, 8)] == [0, 3 * size, 8 * size]
    index.write_bytes(index.read_bytes()[:3])
    assert position_of(log, 0, 8) == 0


def test_the_files_of_another_topic_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "partition.metadata").write_bytes(encode_partition_metadata(NEW))
    log = replace(log_of(tmp_path, batches(0, 5)), topic_id="AAAAAAAAAAAAAAAAAAAAAA")
    with pytest.raises(
        RecreatedTopic, match=r"^flights-3 has the topic id AAECAwQFBgcICQoLDA0ODw now, and AAAAAAAAAAAAAAAAAAAAAA "
    ):
        next(headers_from(log, 0, 5))
    (tmp_path / "partition.metadata").unlink()
    assert next(headers_from(log, 0, 5))[2].base_offset == 0  # the directory does not say


def test_partitions_are_found_with_the_ids_of_their_topics(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").touch()
    (tmp_path / "replication-offset-checkpoint").write_bytes(encode_offsets({("a", 0): 5}))
    for name in ("a-0", "b-1", "b-2.00000000000000000000000000000000-delete"):
        (tmp_path / name).mkdir()
    (tmp_path / "a-0" / "partition.metadata").write_bytes(encode_partition_metadata(OLD))
    (tmp_path / "b-1" / "partition.metadata").write_bytes(b"torn")
    found = find_logs([str(tmp_path)])
    assert {place: (log.topic_id, log.high_watermark) for place, log in found.items()} == {
        LakePartition("a", 0): ("AAAAAAAAAAAAAAAAAAAAAA", 5),
        LakePartition("b", 1): (None, 0),
    }


def test_what_is_no_log_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"There is no folder .*nowhere"):
        find_logs([str(tmp_path / "nowhere")])
    with pytest.raises(Missing, match=r"is no log directory of a broker: it has no meta\.properties"):
        find_logs([str(tmp_path)])
    (tmp_path / "meta.properties").touch()
    (tmp_path / "replication-offset-checkpoint").write_text("0\n2\na 0 5\n")
    with pytest.raises(LakeError, match=r"replication-offset-checkpoint cannot be read: .*2 entries promised, 1 found"):
        find_logs([str(tmp_path)])
