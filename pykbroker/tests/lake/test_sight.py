from __future__ import annotations

import json

from pykbroker.lake.ledger import Entry, Place, Progress
from pykbroker.lake.sight import Sight


def report(rows: int, end: object, latest: object) -> dict[str, object]:
    return {
        "numInputRows": rows,
        "processedRowsPerSecond": 50.0,
        "sources": [{"endOffset": end, "latestOffset": latest}],
    }


def test_lag_and_time_left_come_from_the_last_report() -> None:
    sight = Sight(Entry())
    assert sight.line() == "0 rows, 0 rows/s, 0 behind"
    sight.took(Entry(0, "", 120, {Place("a", 0): Progress(0, 120, 120)}))
    sight.seen(report(120, json.dumps({"a": {"0": 120}}), json.dumps({"a": {"0": 220, "1": 100}})))
    assert (sight.lag, sight.seconds_left) == (200, 4.0)
    assert sight.line() == "120 rows, 50 rows/s, 200 behind, 4 s left"
    sight.seen(report(0, {"a": {"0": 220, "1": 100}}, {"a": {"0": 220, "1": 100}}))
    assert (sight.lag, sight.rate, sight.batches) == (0, 50.0, 1)


def test_reports_without_offsets_say_nothing() -> None:
    assert Sight(Entry()).seen(None).lag == 0
    assert Sight(Entry()).seen(report(0, "None", None)).lag == 0
