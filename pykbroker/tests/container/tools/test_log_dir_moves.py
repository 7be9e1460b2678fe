"""What is told of a replica on its way."""

from __future__ import annotations

import pytest

from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.log_dir_moves import ReplicaLogDirs


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (ReplicaLogDirs(), "is not found in any live log dir on broker 1"),
        (ReplicaLogDirs("/b"), "Reassignment of replica t-0-1 completed successfully."),
        (ReplicaLogDirs("/a"), "Partition t-0 on broker 1 is not being moved from log dir /a to /b."),
        (ReplicaLogDirs("/a", "/b"), "Reassignment of replica t-0-1 is still in progress."),
        (ReplicaLogDirs("/a", "/c"), "Partition t-0 on broker 1 is being moved to log dir /c instead of /b."),
    ],
)
def test_told(place: ReplicaLogDirs, told: str) -> None:
    assert told in place.status((1, TopicPartition("t", 0)), "/b")
