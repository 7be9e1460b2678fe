from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pykbroker.lake.direct import planning
from pykbroker.lake.direct.batches import Piece
from pykbroker.lake.direct.planning import divided
from pykbroker.tests.lake.direct.folders import log_of
from pykbroker.wire.records import Record, encode_batch


def batches(first: int, count: int) -> list[bytes]:
    """Of two records and about a hundred bytes each."""
    return [encode_batch([Record(value=b"x" * 10)] * 2, base_offset=first + 2 * number) for number in range(count)]


def limits(whole: Piece, min_partitions: int = 1) -> list[tuple[int, int]]:
    parts = [(part.start, part.until) for part in divided([whole], min_partitions) if isinstance(part, Piece)]
    assert (parts[0][0], parts[-1][1]) == (whole.start, whole.until)
    assert all(before[1] == after[0] for before, after in pairwise(parts))
    return parts


def test_small_segments_are_one_task_together(tmp_path: Path) -> None:
    log = log_of(tmp_path, batches(0, 5), batches(10, 5), batches(20, 5))
    assert limits(Piece(log, 3, 27)) == [(3, 27)]


def test_nothing_is_no_task(tmp_path: Path) -> None:
    assert divided([Piece(log_of(tmp_path, batches(0, 5)), 4, 4)], 1) == []


def test_tasks_begin_where_segments_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = log_of(tmp_path, *(batches(10 * number, 5) for number in range(6)))
    monkeypatch.setattr(planning, "TASK_BYTES", 2 * Path(tmp_path, "00000000000000000000.log").stat().st_size)
    assert limits(Piece(log, 0, 60)) == [(0, 20), (20, 40), (40, 60)]
    assert limits(Piece(log, 11, 60)) == [(11, 30), (30, 50), (50, 60)]


def test_a_large_segment_is_divided_where_batches_begin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = log_of(tmp_path, batches(0, 100))
    size = Path(tmp_path, "00000000000000000000.log").stat().st_size
    monkeypatch.setattr(planning, "TASK_BYTES", size // 4)
    found = limits(Piece(log, 0, 200))
    assert len(found) == 4
    assert all(start % 2 == 0 and 40 <= until - start <= 60 for start, until in found)


def test_without_an_index_a_segment_is_one_task(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = log_of(tmp_path, batches(0, 100))
    Path(tmp_path, "00000000000000000000.index").unlink()
    monkeypatch.setattr(planning, "TASK_BYTES", 1000)
    assert limits(Piece(log, 0, 200)) == [(0, 200)]


def test_more_tasks_can_be_asked_for(tmp_path: Path) -> None:
    log = log_of(tmp_path, batches(0, 50), batches(100, 50))
    assert len(limits(Piece(log, 0, 200), 8)) >= 8
