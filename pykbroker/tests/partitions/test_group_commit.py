"""Many who wait share one sync, and nobody waits for ever."""

import pytest

from pykbroker.partitions.group_commit import GroupCommit
from pykbroker.runtime.waits import Deferred, WakeQueue


class Disk:
    """``runs`` are syncs that a thread has not done yet."""

    def __init__(self) -> None:
        self.wake_queue = WakeQueue()
        self.runs: list[Deferred[None]] = []
        self.no_thread = False
        self.ended = 0
        self.log_end = 1
        self.commit = GroupCommit(self.wake_queue, self.sync, self.end, lambda: self.log_end)

    def sync(self) -> Deferred[None]:
        if self.no_thread:
            raise RuntimeError("can't start new thread")
        self.runs.append(Deferred())
        return self.runs[-1]

    def end(self) -> None:
        self.ended += 1


def test_who_comes_while_a_sync_runs_waits_for_the_next() -> None:
    disk = Disk()
    first = disk.commit.synced(1)
    assert disk.commit.synced(1) is first
    disk.wake_queue.run()
    disk.log_end = 2
    second = disk.commit.synced(2)
    assert second is not first
    assert disk.commit.synced(1) is first  # what the running sync has needs no other
    disk.wake_queue.run()
    assert len(disk.runs) == 1
    disk.runs[0].complete(None)
    assert first.done
    assert not second.done
    disk.runs[1].complete(None)
    assert second.done
    assert disk.ended == 2


def test_a_thread_that_cannot_be_started_stalls_nobody_for_ever() -> None:
    disk = Disk()
    disk.no_thread = True
    first = disk.commit.synced(1)
    disk.wake_queue.run()
    with pytest.raises(RuntimeError, match="new thread"):
        _ = first.value
    disk.no_thread = False
    second = disk.commit.synced(1)
    disk.wake_queue.run()
    disk.runs[0].complete(None)
    assert second.done
