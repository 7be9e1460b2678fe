"""Many who wait share one sync, and nobody waits for ever."""

import pytest

from pykbroker.partitions.group_commit import GroupCommit
from pykbroker.runtime.waits import Deferred, WakeQueue


class Plan:
    def run(self) -> None: ...

    def finish(self) -> None: ...


class Log:
    def plan_flush(self) -> Plan:
        return Plan()


class Partition:
    def __init__(self) -> None:
        self.log = Log()
        self.told = 0

    def tell_changed(self) -> None:
        self.told += 1


class Process:
    """What group commit asks of its runtime; ``runs`` are syncs that a thread has not done yet."""

    def __init__(self) -> None:
        self.wake_queue = WakeQueue()
        self.runs: list[Deferred[None]] = []
        self.no_thread = False

    def offload(self, function) -> Deferred[None]:
        if self.no_thread:
            raise RuntimeError("can't start new thread")
        self.runs.append(Deferred())
        return self.runs[-1]


def test_who_comes_while_a_sync_runs_waits_for_the_next() -> None:
    runtime, partition = Process(), Partition()
    commit = GroupCommit(runtime)
    first = commit.synced(partition)
    assert commit.synced(partition) is first
    runtime.wake_queue.run()
    second = commit.synced(partition)
    assert second is not first
    runtime.wake_queue.run()
    assert len(runtime.runs) == 1
    runtime.runs[0].complete(None)
    assert first.done
    assert not second.done
    runtime.runs[1].complete(None)
    assert second.done
    assert partition.told == 2


def test_a_thread_that_cannot_be_started_stalls_nobody_for_ever() -> None:
    runtime, partition = Process(), Partition()
    commit = GroupCommit(runtime)
    runtime.no_thread = True
    first = commit.synced(partition)
    runtime.wake_queue.run()
    with pytest.raises(RuntimeError, match="new thread"):
        _ = first.value
    runtime.no_thread = False
    second = commit.synced(partition)
    runtime.wake_queue.run()
    runtime.runs[0].complete(None)
    assert second.done
