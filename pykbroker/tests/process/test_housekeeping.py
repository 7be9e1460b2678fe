"""Rounds of housekeeping: whatever goes wrong in one, the next one comes."""

from __future__ import annotations

import pytest

from pykbroker.brokers.cluster import Cluster
from pykbroker.process.housekeeping import Housekeeping
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode, KafkaError

INTERVAL_MS = 60_000


@pytest.fixture
def cluster() -> Cluster:
    intervals = ("log.retention.check.interval.ms", "log.cleaner.backoff.ms", "log.initial.task.delay.ms")
    world = MemoryCluster(**{name.replace(".", "_"): str(INTERVAL_MS) for name in intervals})
    world.topic("t", 1)
    log = world.partition("t").log
    log.directory.remove_later(f"{log.path}/{0:020d}", 0)
    return world.cluster


def rounds(cluster: Cluster, count: int) -> None:
    for _ in range(count):
        cluster.runtime.clock.advance(INTERVAL_MS)
        cluster.runtime.timers.run_due()


@pytest.mark.parametrize("error", [KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), OSError(5, "failed"), KeyError("defect")])
@pytest.mark.parametrize("step", ["retain", "plan_removals", "compacted", "plan_checkpoints", "due_flushes"])
def test_a_round_that_fails_is_tried_again(cluster: Cluster, monkeypatch, caplog, step: str, error: Exception) -> None:
    tries = []

    def fail(*_args: object) -> None:
        tries.append(step)
        raise error

    monkeypatch.setattr(cluster.logs, step, fail)
    Housekeeping(cluster, durable=False).start()
    rounds(cluster, 3)
    assert len(tries) >= 2
    assert "ousekeeping round" in caplog.text or "Retention failed" in caplog.text


@pytest.mark.parametrize(
    ("setting", "step"),
    [("log.cleaner.backoff.ms", "compacted"), ("log.flush.offset.checkpoint.interval.ms", "plan_checkpoints")],
)
def test_an_interval_of_nothing_leaves_the_core_to_others(monkeypatch, setting: str, step: str) -> None:
    cluster = MemoryCluster(**{setting.replace(".", "_"): "0"}, log_initial_task_delay_ms="0").cluster
    done, times = getattr(cluster.logs, step), []

    def noted() -> object:
        times.append(cluster.runtime.clock.now_ms())
        return done()

    monkeypatch.setattr(cluster.logs, step, noted)
    Housekeeping(cluster, durable=False).start()
    for _ in range(1000):
        cluster.runtime.clock.advance(1)
        cluster.runtime.timers.run_due()
    assert 5 < len(times) <= 11


@pytest.mark.parametrize("step", ["look_ahead", "removals"])
def test_a_thread_that_fails_ends_its_round_only(cluster: Cluster, monkeypatch, caplog, step: str) -> None:
    tries = []

    def fail(*_args: object) -> None:
        tries.append(step)
        raise KeyError("defect")

    if step == "look_ahead":
        monkeypatch.setattr("pykbroker.storage.log.retention.look_ahead", fail)
    else:
        monkeypatch.setattr(cluster.logs, "plan_removals", lambda: fail)
    Housekeeping(cluster, durable=False).start()
    rounds(cluster, 3)
    assert len(tries) >= 2
    assert "defect" in caplog.text
