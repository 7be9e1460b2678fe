"""The process dies at every single disk operation, power fails, and it starts again: what was answered is there.

What was under way is there as a whole or not at all: one decision is one batch.
"""

from __future__ import annotations

import errno
import random

import pytest

from pykbroker.controller.controller import Controller
from pykbroker.controller.topics import NewPartitions, NewTopic
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.metadata.image_records import image_records
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.metadata import MetadataDirectory, alteration, created, registration, replayed, snapshot
from pykbroker.wire.errors import KafkaError
from pykbroker.worlds.disk import ProcessDied, SimulatedDisk


def open_controller(disk: SimulatedDisk) -> Controller:
    return MetadataDirectory(disk=disk).controller


FLUSHED = alteration(TOPIC_RESOURCE, "a", retention_ms="1", flush_ms="2")

#: Decisions, one after the other, each an operation on the controller.
STEPS = [
    lambda controller: controller.start_brokers([registration(1), registration(2)]),
    lambda controller: controller.create_topics([NewTopic("a", 3, 2), NewTopic("b", 2, 1)]),
    lambda controller: snapshot(controller._log, controller.image),
    lambda controller: controller.create_partitions([NewPartitions("a", 5)]),
    lambda controller: controller.alter_configs([FLUSHED], broker_id=1),
    lambda controller: controller.delete_topics([controller.image.topic("b").id]),
    lambda controller: snapshot(controller._log, controller.image),
    lambda controller: controller.fence_broker(1),
    lambda controller: controller.stop_brokers(),
]


def state(image):
    """What the image says, apart from where the log ends; a copy, which later changes leave alone."""
    copy = replayed(list(image_records(image)))
    return {name: value for name, value in vars(copy).items() if name not in {"offset", "epoch", "cluster_id"}}


def take(step, controller):
    """Raises what the step fails with."""
    done = step(controller)
    if isinstance(done, Deferred):
        _ = done.value


def run(disk, reached):
    """All steps; ``reached`` gets the state after each that was done."""
    controller = open_controller(disk)
    reached.append(state(controller.image))
    for step in STEPS:
        take(step, controller)
        reached.append(state(controller.image))


def reference():
    disk = SimulatedDisk()
    states = []
    run(disk, states)
    return states, disk.operations


STATES, OPERATIONS = reference()


def test_the_steps_differ():
    assert len(STATES) == len(STEPS) + 1
    assert OPERATIONS > 40


@pytest.mark.parametrize("operation", range(1, OPERATIONS + 1))
def test_death_at_any_operation(operation):
    disk = SimulatedDisk()
    disk.fail = lambda number, _: ProcessDied() if number == operation else None
    reached = []
    with pytest.raises(ProcessDied):
        run(disk, reached)
    disk.fail = None
    disk.crash(random.Random(operation))
    first = open_controller(disk)
    allowed = [STATES[0]] if not reached else STATES[len(reached) - 1 : len(reached) + 1]
    assert state(first.image) in allowed
    second = open_controller(disk)
    assert state(second.image) == state(first.image)
    assert second.image.epoch > first.image.epoch


@pytest.mark.parametrize("operation", range(1, OPERATIONS + 1))
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_error_at_any_operation(operation, code):
    """The disk refuses once. The step fails as a whole and is tried again; unless the directory went offline, the
    process goes on as if nothing had been, and a later start finds what it decided.
    """
    disk = SimulatedDisk()
    disk.fail = lambda number, _: OSError(code, "refused") if number == operation else None
    try:
        controller = open_controller(disk)
    except (KafkaError, OSError):
        disk.fail = None
        controller = open_controller(disk)
    for step in STEPS:
        before = state(controller.image)
        try:
            take(step, controller)
        except (KafkaError, OSError):
            assert state(controller.image) == before
            if controller._log._log.directory.offline:
                return
            take(step, controller)
    if not controller._log._log.directory.offline:
        assert {name: len(topic.partitions) for name, topic in controller.image.topics.items()} == {"a": 5}
        assert state(open_controller(disk).image) == state(controller.image)


@pytest.mark.deep
def test_a_disk_that_fills_between_the_batches_of_one_decision():
    disk = SimulatedDisk()
    controller = open_controller(disk)
    controller.start_brokers([registration(1)])
    for name in ("a", "b"):
        created(controller, NewTopic(name, 9_000, 1))
    before = state(controller.image)
    writes = []

    def full(_, name):
        if name.startswith("write") and "__cluster_metadata" in name:
            writes.append(name)
            return OSError(errno.ENOSPC, "full") if len(writes) == 2 else None
        return None

    disk.fail = full
    with pytest.raises(KafkaError):
        controller.start_brokers([registration(1)], clean=False)
    disk.fail = None
    assert state(controller.image) == before
    controller.create_topics([NewTopic("c")])
    assert state(open_controller(disk).image) == state(controller.image)
