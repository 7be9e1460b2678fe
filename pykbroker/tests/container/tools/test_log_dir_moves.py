"""What is told of a replica on its way."""

from __future__ import annotations

import pytest

from pykbroker.client.offsets import Partition
from pykbroker.container.tools.log_dir_moves import Place


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (Place(), "is not found in any live log dir on broker 1"),
        (Place("/b"), "Reassignment of replica t-0-1 completed successfully."),
        (Place("/a"), "Partition t-0 on broker 1 is not being moved from log dir /a to /b."),
        (Place("/a", "/b"), "Reassignment of replica t-0-1 is still in progress."),
        (Place("/a", "/c"), "Partition t-0 on broker 1 is being moved to log dir /c instead of /b."),
    ],
)
def test_told(place: Place, told: str) -> None:
    assert told in place.told((1, Partition("t", 0)), "/b")
