"""Many small batches: what a table keeps of its past does not grow. LAKE_BATCHES is their number (80 unless set; 2,000 take half an hour)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.lake.workshop import Workshop
from pykbroker.lake.description import Format
from pykbroker.lake.tables.delta import DeltaTable
from pykbroker.lake.tables.iceberg import IcebergTable
from pykbroker.lake.tables.table import SnapshotRetention, Table

BATCHES = int(os.environ.get("LAKE_BATCHES", "80"))
PERIOD = 20
KEPT = SnapshotRetention(keep_s=3600, most=10, every=5)


def add(table: Table, batch: int) -> None:
    """A batch of one row, as the archive adds it."""
    row = table.spark.sql(f"SELECT 't' AS topic, 0 AS partition, {batch}L AS offset, DATE'2026-01-31' AS date")
    assert table.append(table.empty().unionByName(row, allowMissingColumns=True), batch).count() == 1
    table.tidy_after(batch)


def size(folder: Path) -> tuple[int, int]:
    """The number of files, and their bytes."""
    sizes = [each.stat().st_size for each in folder.rglob("*") if each.is_file()]
    return len(sizes), sum(sizes)


def test_what_iceberg_keeps_beside_its_data_does_not_grow(make: Callable[..., Workshop]) -> None:
    workshop = make(Format.ICEBERG)
    table = IcebergTable(workshop.lake.spark, workshop.lake.folder, history=KEPT)
    metadata = workshop.path / "records" / "metadata"
    measured = []
    for batch in range(BATCHES):
        add(table, batch)
        measured.append(size(metadata))
    half = BATCHES // 2
    before, later = (
        measured[half - PERIOD : half],
        measured[-PERIOD:],
    )  # manifests are merged and snapshots expire in between
    assert max(files for files, _ in later) <= max(files for files, _ in before) + 4, measured
    grown_by = max(size for _, size in later) - max(size for _, size in before)
    assert grown_by < 1024 * (BATCHES - half), measured  # the names and statistics of the new data files
    assert table.read().count() == BATCHES
    add(table, BATCHES - 1)  # it is known as one that was added
    assert table.read().count() == BATCHES


def test_compaction_leaves_nothing_of_what_it_replaced(make: Callable[..., Workshop]) -> None:
    for form, kind in ((Format.ICEBERG, IcebergTable), (Format.DELTA, DeltaTable)):
        workshop = Workshop(make().lake.spark, make().cluster.bootstrap, make().path.parent / form, form)
        table = kind(workshop.lake.spark, workshop.lake.folder, history=SnapshotRetention(keep_s=0, most=10, every=5))
        for batch in range(3):
            add(table, batch)
        assert table.compact(1 << 27) == (3, 1)
        if form is Format.ICEBERG:  # the last snapshots stay, whatever their age
            for batch in range(3, 15):
                add(table, batch)
            table.tidy()
        files = [each for each in (workshop.path / "records").rglob("*.parquet") if "_delta_log" not in each.parts]
        assert len(files) == (13 if form is Format.ICEBERG else 1)
        assert table.read().count() == (15 if form is Format.ICEBERG else 3)


def test_deltas_log_is_removed_after_a_day(make: Callable[..., Workshop]) -> None:
    workshop = make(Format.DELTA)
    table = workshop.lake.table
    log = workshop.path / "records" / "_delta_log"
    for batch in range(12):
        add(table, batch)
    for each in log.rglob("*"):
        written = each.stat().st_mtime - 3 * 86_400
        os.utime(each, (written, written))
    table.forget()
    for batch in range(12, 22):
        add(table, batch)
    left = sorted(each.name for each in log.glob("*.json"))
    assert left[0] >= f"{10:020d}.json", left
    assert table.read().count() == 22


@pytest.mark.parametrize("form", [Format.DELTA, Format.ICEBERG])
def test_a_table_of_an_earlier_version_is_set_to_remove_its_past(make: Callable[..., Workshop], form: Format) -> None:
    table = make(form).lake.table
    add(table, 0)
    name = table._name if isinstance(table, IcebergTable) else f"delta.`{table.folder.at('records')}`"
    removed = "write.metadata.previous-versions-max" if form is Format.ICEBERG else "delta.logRetentionDuration"
    table.spark.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('{removed}')")
    table.recover()
    found = {row["key"]: row["value"] for row in table.spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
    assert found[removed] in ("10", "interval 86400 seconds")
