"""Rounds of housekeeping: whatever goes wrong in one, the next one comes."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from pykbroker.brokers.cluster import Cluster
from pykbroker.controller.registrations import unfencing
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.process.cleaner import Order
from pykbroker.process.housekeeping import Housekeeping
from pykbroker.storage.compaction import compaction
from pykbroker.storage.compaction.cleaning import CleaningResult, clean
from pykbroker.storage.log import retention
from pykbroker.storage.log.log import Log
from pykbroker.tests.brokers.test_broker import OwnNodes, produce
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.metadata import alter
from pykbroker.tests.storage.support import append, batch, contents
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


def owner(cluster: Cluster, step: str) -> tuple[Any, str]:
    """The object that has the method, and the method's name."""
    *path, name = step.split(".")
    return reduce(getattr, path, cluster.logs), name


@pytest.mark.parametrize("step", ["due_flushes", "forget_producers", "note_checkpoints"])
def test_a_round_looks_at_many_logs_in_slices(monkeypatch, step: str) -> None:
    """At each once, but for those of a topic that is deleted meanwhile."""
    names = ("producer_id_expiration_check", "log_flush_offset_checkpoint")
    intervals = {f"{name}_interval_ms": "1000" for name in names}
    world = MemoryCluster(**intervals, log_cleaner_enable="false", log_initial_task_delay_ms="1000")
    world.create(NewTopic("t", 210, 1), NewTopic("gone", 1, 1))
    opened = [world.partition("t", index).log for index in range(210)]
    gone = world.partition("gone").log
    seen, done = [], getattr(*owner(world.cluster, step))

    def look(*args: Any) -> Any:
        seen.append(args[-1])
        return done(*args)

    monkeypatch.setattr(*owner(world.cluster, step), look)
    world.cluster.runtime.slices.weight_of_a_turn = 5
    Housekeeping(world.cluster, durable=False).start()
    world.cluster.runtime.clock.advance(1000)
    world.cluster.runtime.timers.run_due()
    assert [len(some) for some in seen] == [200]
    world.cluster.controller.delete_topics([world.image.topics["gone"].id])
    world.settle()
    looked_at = [log for some in seen for log in some]
    assert all(looked_at.count(log) == 1 for log in opened)
    assert gone not in looked_at


@pytest.mark.parametrize("error", [KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), OSError(5, "failed"), KeyError("defect")])
@pytest.mark.parametrize(
    "step", ["retain", "plan_removals", "compactions.compacted", "plan_checkpoints", "due_flushes"]
)
def test_a_round_that_fails_is_tried_again(cluster: Cluster, monkeypatch, caplog, step: str, error: Exception) -> None:
    tries = []

    def fail(*_args: object) -> None:
        tries.append(step)
        raise error

    monkeypatch.setattr(*owner(cluster, step), fail)
    Housekeeping(cluster, durable=False).start()
    rounds(cluster, 3)
    assert len(tries) >= 2
    assert "ousekeeping round" in caplog.text or "Retention failed" in caplog.text


@pytest.mark.parametrize(
    ("setting", "step"),
    [
        ("log.cleaner.backoff.ms", "compactions.compacted"),
        ("log.flush.offset.checkpoint.interval.ms", "plan_checkpoints"),
        ("log.flush.start.offset.checkpoint.interval.ms", "plan_checkpoints"),
    ],
)
def test_an_interval_of_nothing_leaves_the_core_to_others(monkeypatch, setting: str, step: str) -> None:
    cluster = MemoryCluster(**{setting.replace(".", "_"): "0"}, log_initial_task_delay_ms="0").cluster
    done, times = getattr(*owner(cluster, step)), []

    def noted(*args: Any) -> object:
        times.append(cluster.runtime.clock.now_ms())
        return done(*args)

    monkeypatch.setattr(*owner(cluster, step), noted)
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


@pytest.mark.parametrize("error", [KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), KeyError("defect")])
@pytest.mark.parametrize("work", ["retention", "flushes", "compaction"])
def test_a_log_that_fails_in_every_round_holds_up_no_other(monkeypatch, caplog, work: str, error: Exception) -> None:
    """As a log on a full disk, whose flush is refused each time."""
    names = ("log.retention.check.interval.ms", "log.cleaner.backoff.ms", "log.initial.task.delay.ms")
    world = MemoryCluster(**{name.replace(".", "_"): "100" for name in names})
    logs = [ready_for(work, world, name) for name in ("bad", "good")]
    done: list[Log] = []
    fail_for(logs[0], error, done, monkeypatch)
    Housekeeping(world.cluster, durable=False, cleaner=InThisThread(world)).start()
    for _ in range(30):
        world.advance(100)
    first, *others = [log for log in done if log in logs]
    assert first is logs[0], "the one that fails has its turn first"
    assert logs[1] in others
    assert "Traceback" in caplog.text or isinstance(error, KafkaError)


def test_a_round_of_compaction_looks_at_many_logs_in_slices(monkeypatch) -> None:
    world = MemoryCluster()
    world.create(NewTopic("t", 210, 1))
    opened = [world.partition("t", index).log for index in range(210)]
    seen, compacted = [], world.cluster.logs.compactions.compacted
    monkeypatch.setattr(
        world.cluster.logs.compactions, "compacted", lambda some: (seen.append(some), compacted(some))[1]
    )
    world.cluster.runtime.slices.weight_of_a_turn = 5
    Housekeeping(world.cluster, durable=False).run_compaction()
    world.settle()
    assert len(seen) > 1
    assert max(map(len, seen)) == 200
    assert {log for some in seen for log in some} >= {*opened}


def test_a_round_of_compaction_syncs_first_what_it_is_to_compact() -> None:
    world = MemoryCluster()
    log = ready_for("compaction", world, "t")
    append(log, batch([b"y"], keys=[b"k"]), now_ms=world.clock.now_ms())
    log.roll(world.clock.now_ms())
    assert log.recovery_point < log.active.base_offset
    housekeeping = Housekeeping(world.cluster, durable=False, cleaner=InThisThread(world))
    done = housekeeping.run_compaction()
    world.settle()
    assert done.value is None
    assert [value for _, value in contents(log)] == [b"y"]


def ready_for(work: str, world: MemoryCluster, name: str) -> Log:
    """A log for which housekeeping has something to do."""
    configs = {"retention": {"retention_bytes": "1"}, "flushes": {"flush_ms": "1"}, "compaction": {}}[work]
    policy = "compact" if work == "compaction" else "delete"
    world.topic(name, 1, cleanup_policy=policy, segment_bytes="1048576", min_cleanable_dirty_ratio="0", **configs)
    log = world.partition(name).log
    for number in range(3):
        append(log, batch([b"x"], keys=[b"k"]), now_ms=world.clock.now_ms())
        if work != "flushes" and number < 2:
            log.roll(world.clock.now_ms())
    if work == "compaction":
        log.flush()
    return log


def fail_for(bad: Log, error: Exception, done: list[Log], monkeypatch) -> None:
    """Whatever is done for one log fails; ``done`` notes what is begun."""

    def noted(function):
        def do(log, *args):
            done.append(log)
            if log is bad:
                raise error
            return function(log, *args)

        return do

    for where, what in ((retention, "apply_retention"), (Log, "flush"), (compaction, "cleanable")):
        monkeypatch.setattr(where, what, noted(getattr(where, what)))


class InThisThread:
    """A cleaner."""

    def __init__(self, world: MemoryCluster) -> None:
        self._disk = world.disk

    def run(self, order: Order) -> CleaningResult:
        return clean(order.job, self._disk)

    def stop(self) -> None:
        """Nothing runs between two turns."""


def test_every_store_of_the_process_has_its_rounds() -> None:
    """Broker 2 has log directories of its own; what is due there is done as in those of broker 1."""
    world = OwnNodes()
    for topic, broker in (("one", 1), ("two", 2)):
        for _ in range(3):
            assert produce(world, topic, broker) == ErrorCode.NONE
            log = world.cluster.brokers[broker].partition(topic, 0).log
            log.roll(world.clock.now_ms())
    housekeeping = Housekeeping(world.cluster, durable=False)
    housekeeping.start()
    world.advance(8 * 24 * 3_600_000)  # past retention.ms
    starts = [
        world.cluster.brokers[broker].partition(topic, 0).log.log_start_offset
        for topic, broker in (("one", 1), ("two", 2))
    ]
    assert starts == [3, 3]
    for folder in ("/data", "/data2"):
        assert b" 0 3" in world.disk.read(f"{folder}/log-start-offset-checkpoint")


def test_topics_that_allow_it_get_a_leader_after_a_while_where_brokers_have_copies_of_their_own() -> None:
    world = MemoryCluster(brokers=2, own_stores=True, unclean_leader_election_interval_ms=str(INTERVAL_MS))
    world.create(NewTopic("t", 1, 2))
    Housekeeping(world.cluster, durable=False, cleaner=InThisThread(world)).start()
    first = world.image.partition("t", 0)
    follower = next(each for each in first.replicas if each != first.leader)
    for broker in (follower, first.leader):
        _ = world.cluster.controller.fence_broker(broker).value
    alter(world.cluster.controller, TOPIC_RESOURCE, "t", unclean_leader_election_enable="true")
    known = world.image.brokers[follower]
    world.cluster.local_controller.commit([unfencing(known)])
    assert world.image.partition("t", 0).leader == -1
    rounds(world.cluster, 2)
    assert world.image.partition("t", 0).leader == follower
