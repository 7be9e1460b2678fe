"""What was measured, in lines."""

from __future__ import annotations

from pykbroker.container.tools.perf_stats import ReadStats, SendStats

MB = 1024 * 1024


def test_intervals_and_all_of_it() -> None:
    stats = SendStats(100.0, 5.0)
    stats.add(90, MB, 0.010)
    assert stats.due(104.9) is None
    stats.add(10, MB, 0.200)
    assert stats.due(105.0) == (
        "100 records sent, 20.0 records/sec (0.40 MB/sec), 29.0 ms avg latency, 200.0 ms max latency."
    )
    stats.add(100, 0, 0.010)
    assert stats.due(106.0) is None
    assert stats.total(110.0) == (
        "200 records sent, 20.000000 records/sec (0.20 MB/sec), 19.50 ms avg latency, 200.00 ms max latency, "
        "10 ms 50th, 200 ms 95th, 200 ms 99th, 200 ms 99.9th."
    )


def test_what_was_read() -> None:
    stats = ReadStats(joining=1.0)
    stats.add(100, MB)
    assert stats.rates(ReadStats(), 2.0) == "1.0000, 0.5000, 100, 50.0000, 1000, 1000, 1.0000, 100.0000"
    before = ReadStats(records=50, size=MB // 2, joining=1.0)
    assert stats.rates(before, 0.5) == "1.0000, 1.0000, 100, 100.0000, 0, 500, 1.0000, 100.0000"


def test_nothing_read_but_joined() -> None:
    assert ReadStats(joining=1.0).rates(ReadStats(), 1.0).endswith("1000, 0, 0.0000, 0.0000")
