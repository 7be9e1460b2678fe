from __future__ import annotations

import pytest

from pykbroker.lake.profile.formatting import clock, counted, moment, rate, share, short, size, span


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (12_345, "12.3k"),
        (123_456, "123k"),
        (999_600, "1M"),
        (4_000_000_000, "4G"),
    ],
)
def test_numbers_are_short(number: int, text: str) -> None:
    assert short(number) == text


def test_sizes_spans_shares_and_rates() -> None:
    assert (size(0), size(12_345), short(128 * 1024, 1024)) == ("0 B", "12.3 kB", "128k")
    assert [span(each) for each in (0, 250, 61_000, 3_600_000, 187_200_000)] == [
        "0",
        "250 ms",
        "1 min 1 s",
        "1 h",
        "2 d 4 h",
    ]
    assert [share(part, 3000) for part in (0, 1, 375, 3000)] == ["0 %", "< 0.1 %", "12.5 %", "100 %"]
    assert share(0, 0) == "0 %"
    assert [rate(number, 86_400_000) for number in (10, 30, 86_400, 86_400_000)] == ["10/d", "1/h", "1/s", "1k/s"]
    assert rate(5, 0) == "5k/s"
    assert (counted(1, "key"), counted(1200, "key")) == ("1 key", "1,200 keys")


def test_points_in_time() -> None:
    assert moment(1_357_041_600_000) == "2013-01-01 12:00"
    assert moment(1_356_998_400_000) == "2013-01-01"
    assert moment(1_357_041_601_000) == "2013-01-01 12:00:01"
    assert moment(1 << 60) == f"@{1 << 60}"


def test_times_of_a_day_are_as_exact_as_the_steps_between_them() -> None:
    midnight_ms = 1_356_998_400_000
    shown = [clock(midnight_ms + 30_250, step_ms) for step_ms in (60_000, 15_000, 10)]
    assert shown == ["00:00", "00:00:30", "00:00:30.250"]
    assert clock(midnight_ms, 5_000) == "00:00:00"
    assert clock(1 << 60, 1) == f"@{1 << 60}"
