"""The page: all that is said stands on it, all that comes from data is escaped, and it wants nothing from elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

from pykbroker.lake.profile.page import page
from pykbroker.lake.profile.statistics import (
    HOUR_MS,
    Bin,
    Key,
    KeysOfCount,
    PartitionStatistics,
    Pause,
    TopicFacts,
    step_for,
)

BEGIN_MS = 1_357_041_600_000  # 2013-01-01T12:00Z
EVIL = "</svg><script>alert('1')</script>&\""
FACTS = TopicFacts(
    topic="flights", records=100, bytes=12_345, first_ms=BEGIN_MS, last_ms=BEGIN_MS + 5 * HOUR_MS, keys=3, without_key=1,
    tombstones=2, with_headers=50, repeats=7, lost=5, size_percentiles={"half": 120, "all": 4000},
    late_percentiles={"half": 0, "all": 61_000},
    partitions=[PartitionStatistics(number, 10 + number, 1000, 0, 20, number) for number in range(20)],
    volume=[Bin(BEGIN_MS, 60), Bin(BEGIN_MS + 4 * HOUR_MS, 40)], sizes=[Bin(0, 2), Bin(64, 90), Bin(2048, 8)],
    lateness=[Bin(0, 90), Bin(60_000, 10)], top_keys=[Key(EVIL, 60, 7), Key("b", 30, 0)],
    key_counts=[KeysOfCount(1, 2, 2), KeysOfCount(32, 1, 60)], pauses=[Pause(3, BEGIN_MS, BEGIN_MS + HOUR_MS)],
)  # fmt: skip


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_everything_is_said() -> None:
    text = text_of(page("lake", "2026-01-31 12:00", [FACTS]))
    for words in (
        "100 records of 1 topic, 12.3 kB of keys and values", "20/h", "2013-01-01 12:00 to 2013-01-01 17:00", "partition 19",
        "the most frequent has 60 % of all records", "7 records (7 %) repeat an earlier value", "1 record without a key",
        "half up to 120 B, all up to 4 kB", "10 records (10 %) older", "all up to 1 min 1 s", "5 offsets expired",
        "190 offsets without a record", "1 h 2013-01-01 12:00 2013-01-01 13:00 3", "64-128B: 90 records", "128-256B: 0 records",
        "2013-01-01 14:00: 0 records",
    ):  # fmt: skip
        assert words in text, words
    assert ">2k-4kB</text>" in page("lake", "now", [FACTS])


def test_data_does_nothing_to_the_page() -> None:
    html = page(f"lake{EVIL}", "now", [replace(FACTS, topic=f"t{number}{EVIL}") for number in range(2)])
    assert "<script" not in html
    assert "alert(&#x27;1&#x27;)" in html
    assert not re.search(r"(?:src|href)=\"(?!#)", html)
    assert "@import" not in html
    assert "url(" not in html
    for found in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        ET.fromstring(found)


def test_a_lake_with_nothing_in_it_has_a_page() -> None:
    assert "No records match." in page("lake", "now", [])
    bare = TopicFacts(
        "t", 1, 0, 0, 0, partitions=[PartitionStatistics(0, 1, 0, 0, 0, 0)], volume=[Bin(0, 1)], sizes=[Bin(0, 1)]
    )
    text = text_of(page("lake", "now", [bare]))
    assert "no record has a key" in text
    assert "All records are in order." in text


def test_bins() -> None:
    assert [step_for(span) for span in (1, 120, 121, HOUR_MS, 365 * 24 * HOUR_MS)] == [
        1,
        1,
        10,
        60_000,
        7 * 24 * HOUR_MS,
    ]
    assert step_for(1 << 60) == -(-(1 << 60) // 120)
