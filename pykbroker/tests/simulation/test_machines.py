"""Machines with copies: small worlds out of seeds, every order within bounds, and each rule switched off.

``WORLDS`` says how many small worlds there are, ``python -m pykbroker.tests.simulation.explorer RECORDS FAULTS`` explores without a limit.
"""

from __future__ import annotations

import os
import sys
from collections import Counter

import pytest

from pykbroker.simulation.machines import CONTROLLER, Machines, records_of
from pykbroker.simulation.passages import described
from pykbroker.tests.kit.depth import of_depths
from pykbroker.tests.simulation.copies import ALL_FAULTS, Copies, Violation, small_world
from pykbroker.tests.simulation.explorer import Explorer
from pykbroker.tests.simulation.mutations import MUTATIONS, Mutation
from pykbroker.tests.simulation.replication_story import STORIES, retold
from pykbroker.tests.simulation.transacting import TransactingMachines

WORLDS = int(os.environ.get("WORLDS", of_depths(30, 100, 10_000)))
#: What must have happened in a hundred worlds, or they are too tame.
EXPECTED = {
    "kill": 20,
    "power": 20,
    "lose": 20,
    "elect": 15,
    "isolate": 25,
    "lag": 25,
    "unfence": 5,
    "acknowledged": 300,
}
#: Records, faults and states at most.
BOUNDS = of_depths(1, 2, 3), 0, of_depths(100, 600, 50_000)


pytestmark = pytest.mark.usefixtures("silent")


def test_small_worlds() -> None:
    counts: Counter[str] = Counter()
    for seed in range(WORLDS):
        copies = small_world(seed)
        counts.update(event[0] for event in copies.path)
        counts["acknowledged"] += sum(code.done and not code.value for code in copies.watch.produced.values())
    if WORLDS >= 100:
        too_few = {what: counts[what] for what, least in EXPECTED.items() if counts[what] < least * WORLDS // 100}
        assert not too_few


def test_every_order_within_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    records, faults, most = BOUNDS
    explorer = Explorer(most)
    states = explorer.explore(Copies(Machines(), records, faults, ALL_FAULTS, times=1))
    with capsys.disabled():
        sys.stdout.write(f"\n{records} records, {faults} faults: {states} states, {explorer.transitions} transitions\n")
    assert 80 < states < most


def test_an_explorer_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    mutation = MUTATIONS["acks=all waits for the high watermark"]
    monkeypatch.setattr(mutation.owner, mutation.name, mutation.without)
    with pytest.raises(Violation, match="was acknowledged before it was committed"):
        Explorer(100).explore(Copies(Machines(), 1, 0, ALL_FAULTS, times=1))


@pytest.mark.parametrize("rule", MUTATIONS)
def test_each_rule_is_needed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation = MUTATIONS[rule]
    _show(mutation)
    monkeypatch.setattr(mutation.owner, mutation.name, mutation.without)
    with pytest.raises((Violation, RuntimeError)):
        _show(mutation, others=100)


def _show(mutation: Mutation, others: int = 0) -> None:
    """Raises Violation, or RuntimeError where brokers ask each other for ever."""
    if mutation.story:
        retold((STORIES / f"{mutation.story}.txt").read_text(encoding="utf-8"))
        return
    for seed in (mutation.seed, *range(others)):
        small_world(seed)


def test_a_replica_that_was_cut_learns_the_high_watermark_without_another_append() -> None:
    """The answer that says where logs part has the high watermark, which the follower does not take from it."""
    machines = Machines()
    machines.produce(1, b"a")
    machines.flow()
    machines.isolate(1)
    machines.produce(1, b"b", acks=1)
    machines.elect(2)
    machines.flow()
    machines.kill(1)  # before its high watermark is on the disk
    machines.fence(1)
    machines.heal()
    machines.flow()
    machines.start(1)
    machines.quiet()
    logs = [machines.log(node) for node in machines.ids]
    assert [(records_of(log), log.high_watermark) for log in logs if log is not None] == [([(0, 0, b"a")], 1)] * 3


def test_a_follower_takes_an_answer_that_is_on_its_way_before_it_fetches_another_partition_too() -> None:
    """It gives up a fetch that waits at the leader; the session would count what is in the answer as told."""
    machines = TransactingMachines()
    machines.elect_coordinator(2)
    machines.flow()
    machines.produce(1, b"a")
    leader = machines.log(1)
    assert leader is not None
    while leader.high_watermark == 0:
        machines.arrive(machines.arriving()[0])
    machines.elect_coordinator(1)
    told = [each.receiver for each in machines.under_way if described(each) == "Fetched high watermark 1"]
    for node in told:
        machines.arrive(next(at for at in machines.arriving() if machines.under_way[at][:2] == (CONTROLLER, node)))
    machines.quiet()
    logs = [machines.log(node) for node in machines.ids]
    assert [log.high_watermark for log in logs if log is not None] == [1, 1, 1]
    assert told
