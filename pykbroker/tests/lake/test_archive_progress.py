from __future__ import annotations

import json

from pykbroker.lake.archive_progress import ArchiveProgress
from pykbroker.lake.ledger import LakePartition, LedgerEntry, PartitionProgress


def report(rows: int, end: object, latest: object) -> dict[str, object]:
    return {
        "numInputRows": rows,
        "processedRowsPerSecond": 50.0,
        "sources": [{"endOffset": end, "latestOffset": latest}],
    }


def test_lag_and_time_left_come_from_the_last_report() -> None:
    sight = ArchiveProgress(LedgerEntry())
    assert sight.line() == "0 rows, 0 rows/s, 0 behind"
    sight.took(LedgerEntry(0, "", 120, {LakePartition("a", 0): PartitionProgress(0, 120, 120)}))
    sight.seen(report(120, json.dumps({"a": {"0": 120}}), json.dumps({"a": {"0": 220, "1": 100}})))
    assert (sight.lag, sight.seconds_left) == (200, 4.0)
    assert sight.line() == "120 rows, 50 rows/s, 200 behind, 4 s left"
    sight.took(
        LedgerEntry(
            1,
            "",
            190,
            {
                LakePartition("a", 0): PartitionProgress(0, 220, 215),
                LakePartition("a", 1): PartitionProgress(0, 100, 95),
            },
        )
    )
    sight.seen(report(0, {"a": {"0": 220, "1": 100}}, {"a": {"0": 220, "1": 100}}))
    assert (sight.lag, sight.rate, sight.batches) == (0, 50.0, 2)


def test_before_the_first_report_and_without_offsets_in_it_lag_is_from_what_the_cluster_said() -> None:
    """As in a run that begins with the batch of one that was killed: Spark looks for no new ends before it."""
    sight = ArchiveProgress(LedgerEntry(), {LakePartition("a", 0): 10}, {LakePartition("a", 0): 110})
    assert sight.line() == "the first batch is being read, 100 behind"
    sight.took(LedgerEntry(0, "", 30, {LakePartition("a", 0): PartitionProgress(10, 40, 30)}))
    assert sight.seen(None).lag == 70
    assert sight.seen(report(0, "None", None)).line() == "30 rows, 0 rows/s, 70 behind"


def test_a_batch_that_the_lake_had_is_not_added_by_this_run() -> None:
    entry = LedgerEntry(0, "", 30, {LakePartition("a", 0): PartitionProgress(0, 30, 30)})
    sight = ArchiveProgress(entry)
    sight.took(entry)
    assert (sight.rows, sight.batches) == (0, 0)
    sight.took(LedgerEntry(1, "", 5, {LakePartition("a", 0): PartitionProgress(0, 35, 35)}))
    assert (sight.rows, sight.batches) == (5, 1)


def test_offsets_are_read_in_the_form_of_each_version_of_spark() -> None:
    for latest in ({"a": {"0": 70}}, '{"a":{"0":70}}', "{'a': {'0': 70}}"):
        assert ArchiveProgress(LedgerEntry()).seen(report(1, None, latest)).lag == 70
    for latest in ("None", None, "what nobody has seen yet", "(1", 7):
        assert ArchiveProgress(LedgerEntry()).seen(report(1, None, latest)).lag == 0
