"""Any order of produces, crashes, stops, starts, cuts and elections: what was acknowledged with acks=all is in every later leader, and at the
quiet end all replicas are alike.
"""

from __future__ import annotations

import random

import pytest

from pykbroker.runtime.waits import Deferred
from pykbroker.tests.brokers.test_replica_manager import OwnCopies
from pykbroker.tests.kit.depth import of_depths

_SEEDS = of_depths(5, 12, 500)
_STEPS = 40


class Story:
    """One random order. The last two brokers are never taken away: with one left, min.insync.replicas would refuse all."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.world = OwnCopies()
        self.number = 0
        self.waiting: dict[bytes, Deferred[int]] = {}

    def step(self) -> None:
        rng, world = self.rng, self.world
        assert world.cluster.peers is not None
        running = sorted(world.cluster.brokers)
        kind = rng.choice(["produce"] * 5 + ["kill", "stop", "start", "cut", "heal", "elect", "time", "turns", "lag"])
        if kind == "produce" and world.leader in running:
            self.number += 1
            value = b"%d" % self.number
            self.waiting[value] = world.produce(value, acks=rng.choice([-1, -1, 1]))
        elif kind in ("kill", "stop") and len(running) == 3:
            broker = rng.choice(running)
            world.kill_broker(broker) if kind == "kill" else world.stop_broker(broker)
        elif kind == "start":
            for broker in {1, 2, 3} - set(running):
                world.start_broker(broker)
        elif kind == "cut":
            world.cluster.peers.cut.add((rng.choice(running), rng.choice(running)))
        elif kind == "heal":
            world.cluster.peers.cut.clear()
        elif kind == "elect" and len(world.isr) > 1:
            world.cluster.controller.move_leader("t", 0, rng.choice(world.isr))
        elif kind == "time":
            world.pass_time(rng.choice([500, 3000]))
        elif kind == "lag":
            world.pass_time(15_000, 1500)
        world.turns(rng.choice([0, 1, 3, 10]))

    def end(self) -> None:
        world = self.world
        assert world.cluster.peers is not None
        world.cluster.peers.cut.clear()
        for broker in {1, 2, 3} - set(world.cluster.brokers):
            world.start_broker(broker)
        world.pass_time(10_000, 1000)


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_nothing_acknowledged_is_lost(seed: int) -> None:
    story = Story(seed)
    for _ in range(_STEPS):
        story.step()
    story.end()
    world = story.world
    assert world.isr == [1, 2, 3]
    assert world.copies() == [world.copies()[0]] * 3
    assert len({tuple(world.on(broker).log.epochs.entries()[:-1]) for broker in (1, 2, 3)}) <= 2
    there = world.read()
    assert len(set(there)) == len(there)
    unanswered = [value for value, code in story.waiting.items() if not code.done]
    assert unanswered == []


class Ledger(Story):
    """Only with acks=all: then what is acknowledged must be there."""

    def step(self) -> None:
        world = self.world
        if self.rng.random() < 0.4 and world.leader in world.cluster.brokers:
            self.number += 1
            value = b"%d" % self.number
            self.waiting[value] = world.produce(value)
        else:
            super().step()


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_acks_all_is_kept(seed: int) -> None:
    ledger = Ledger(seed)
    acknowledged: dict[bytes, Deferred[int]] = {}
    produce = ledger.world.produce

    def noted(value: bytes, acks: int = -1) -> Deferred[int]:
        code = produce(value, acks)
        if acks == -1:
            acknowledged[value] = code
        return code

    ledger.world.produce = noted  # type: ignore[method-assign]
    for _ in range(_STEPS):
        ledger.step()
    ledger.end()
    there = set(ledger.world.read())
    lost = [
        value
        for value, code in acknowledged.items()
        if code.done and not code.error and code.value == 0 and value not in there
    ]
    assert lost == []
