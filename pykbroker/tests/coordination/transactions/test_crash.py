"""The process dies at every operation on the disk, or the power goes; transactions are whole or not at all, and end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest

from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.depth import of_depths
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode
from pykbroker.worlds.disk import ProcessDied

TRANSACTIONS = 3
#: Every append is synced before it is acknowledged; so nothing acknowledged is lost with the power.
SYNCED = {"log_flush_interval_messages": "1"}


class Run:
    """Some transactions over two partitions and a group's offset, and what the client was told of them."""

    def __init__(self, protocol: int, **settings: str) -> None:
        self.world = MemoryCluster(**settings)
        self.world.topic()
        self.producer = Producer(self.world, "tx", protocol).started()
        self.world.coordinator("readers")
        self.producer.commit_offset(0)
        self.producer.abort()
        #: Transaction to whether its end was answered; and the last one that was begun.
        self.answered: dict[int, bool] = {}
        self.begun = -1

    def steps(self) -> Iterator[None]:
        for number in range(TRANSACTIONS):
            self.begun = number
            value = b"%d" % number
            commit = number != 1
            for step in (
                partial(self.producer.send, value),
                partial(self.producer.send, value, index=1),
                partial(self.producer.commit_offset, number + 1),
                partial(self.producer.end, commit=commit),
            ):
                assert step() is ErrorCode.NONE
                yield
            self.answered[number] = commit

    def check(self) -> None:
        """What a restarted client finds."""
        world = self.world
        Producer(world, "tx", self.producer.protocol).started()
        assert world.state("tx") == "Empty"
        for index in (0, 1):
            found = world.fetch("t", index, 0)
            assert found.last_stable_offset == found.high_watermark
        seen = [int(value) for value in world.read()]
        assert seen == [int(value) for value in world.read(index=1)]
        committed = [number for number, commit in self.answered.items() if commit]
        unanswered = [self.begun] if self.begun not in self.answered and self.begun != 1 else []
        assert seen in (committed, committed + unanswered)
        last = {("t", 0): seen[-1] + 1} if seen else {}
        assert world.committed(stable=True) == last


def operations(protocol: int, **settings: str) -> int:
    run = Run(protocol, **settings)
    before = run.world.disk.operations
    for _ in run.steps():
        pass
    run.check()
    return run.world.disk.operations - before


@pytest.mark.deep(but=1)
@pytest.mark.parametrize("power", [False, True], ids=["killed", "power lost"])
@pytest.mark.parametrize("protocol", [1, 2])
def test_death_at_every_operation(protocol, power):
    settings = SYNCED if power else {}
    for operation in range(1, operations(protocol, **settings) + 1, of_depths(5, 1, 1)):
        run = Run(protocol, **settings)
        disk = run.world.disk
        last = disk.operations + operation
        disk.fail = lambda at, _, last=last: ProcessDied() if at >= last else None
        with suppress(ProcessDied):
            for _ in run.steps():
                pass
        disk.fail = None
        if power:
            disk.crash(random.Random(operation))
        run.world.start()
        run.check()


@pytest.mark.deep(but=1)
@pytest.mark.parametrize("protocol", [1, 2])
def test_a_disk_that_refuses_an_operation_for_a_while(protocol):
    """The client is told of it, or the end is brought about later; either way nothing is half done."""
    for operation in range(1, operations(protocol) + 1):
        run = Run(protocol)
        disk = run.world.disk
        refused = disk.operations + operation
        disk.fail = lambda at, _, refused=refused: OSError(28, "No space left on device") if at == refused else None
        with suppress(AssertionError):  # the client gives up at the first error
            for _ in run.steps():
                pass
        disk.fail = None
        run.world.advance(1000)
        run.world.restart(kill=True)
        run.check()
