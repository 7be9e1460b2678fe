"""Where a share group begins."""

from __future__ import annotations

import pytest

from pykbroker.share_partitions.start_offset import duration_ms
from pykbroker.tests.kit.share_groups import ShareCluster, ShareMember


@pytest.mark.parametrize(
    ("text", "expected"),
    [("PT1S", 1000), ("P1DT2H3M4.5S", 93_784_500), ("P2D", 172_800_000), ("pt0.25s", 250), ("PT90M", 5_400_000)],
)
def test_durations(text: str, expected: int) -> None:
    assert duration_ms(text) == expected


@pytest.mark.parametrize(
    ("reset", "expected"), [("earliest", [(0, 8, 1)]), ("latest", [(8, 8, 1)]), ("by_duration:PT30S", [(4, 8, 1)])]
)
def test_a_group_begins_where_its_setting_says(reset: str, expected: list[tuple[int, int, int]]) -> None:
    world = ShareCluster()
    world.configure("share.auto.offset.reset", reset)
    world.produce(4)
    world.advance(60_000)
    world.produce(4)
    world.joined()
    member = ShareMember(world)
    if reset == "latest":
        assert member.acquired() == []
    world.produce(1)
    found = member.acquired()
    first, last = min(each[0] for each in found), max(each[1] for each in found)
    assert [(first, last, 1)] == expected
