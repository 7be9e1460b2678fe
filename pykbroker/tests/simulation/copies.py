"""What may befall machines with copies of one partition, drawn from a seed or all of it in turn, and what must hold after each event.

An event is a name with its arguments. ``events`` says which are possible, ``apply`` lets one happen and looks at everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from pykbroker.metadata.image import NO_LEADER
from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.machines import CONTROLLER, LAG_MS, LoggedRecord, Machines, records_of
from pykbroker.storage.log.log import Log
from pykbroker.wire.messages.alter_partition import AlterPartitionRequest

Event = tuple[str, *tuple[int, ...]]
#: What is no fault.
_USUAL = frozenset({"arrive", "produce", "start", "fence", "unfence", "heal", "time"}) | {
    *(
        "ask",
        "read",
        "late",
        "restart",
        "give_up",
        "retry",
        "again",
        "begin_epoch",
        "beat",
        "commit",
        "deliver",
    ),  # of clients
    *("reassign", "cancel", "remake", "throttle"),  # of operators
}


class Violation(AssertionError):
    """A rule of replication is broken."""


class CopiesWatch:
    """Looks at all machines after each event; the numbers are those of the invariants in its method's comments."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        #: By offset, what was acknowledged or shown to anybody.
        self.committed: list[LoggedRecord] = []
        #: What producers were told.
        self.produced: dict[bytes, Deferred[int]] = {}
        self._by_epoch: dict[tuple[int, int], bytes] = {}
        self._leaders: dict[int, int] = {}
        self._marks: dict[int, tuple[object, int]] = {}
        self._broker_epochs: dict[int, int] = {}
        self.look()

    def log(self, node: int) -> Log | None:
        """The log of a running broker that is looked at."""
        return self._machines.log(node)

    def look(self) -> None:
        """Raises Violation."""
        self._look_at_controller()
        logs = {node: records_of(log) for node in self._machines.ids if (log := self.log(node)) is not None}
        for node, records in logs.items():
            self._look_at_log(node, records)
        for node, records in logs.items():
            self._look_at_committed(node, records)
        state = self._machines.state
        for node in {*state.isr, *state.eligible_leader_replicas} & logs.keys():
            # 1 and 5: whoever may become leader has everything
            if logs[node][: len(self.committed)] != self.committed:
                raise Violation(f"{node} may lead, and has {logs[node]} where {self.committed} is committed")
        self._look_at_answers()

    def _look_at_answers(self) -> None:
        known = {record.value for record in self.committed}
        for value, code in self.produced.items():
            if code.done and not code.value and value not in known:
                raise Violation(f"{value!r} was acknowledged before it was committed")

    def _look_at_controller(self) -> None:
        machines = self._machines
        state = machines.state
        isr, eligible = set(state.isr), set(state.eligible_leader_replicas)
        # 5: the lists
        if not isr <= set(state.replicas) or isr & eligible or state.leader not in {*isr, NO_LEADER}:
            raise Violation(f"the lists contradict each other: {state}")
        # 3: one leader an epoch
        if state.leader != NO_LEADER and self._leaders.setdefault(state.leader_epoch, state.leader) != state.leader:
            raise Violation(f"{state.leader} and {self._leaders[state.leader_epoch]} lead in {state.leader_epoch}")
        # 9: broker epochs are new ones
        for broker in machines.image.brokers.values():
            if self._broker_epochs.setdefault(broker.epoch, broker.id) != broker.id:
                raise Violation(f"two brokers have the epoch {broker.epoch}")
        # 6: one AlterPartition of an incarnation is under way
        asked = [
            (each.sender, each.content.broker_epoch)
            for each in machines.under_way
            if isinstance(each.content, AlterPartitionRequest)
        ]
        if len(set(asked)) < len(asked):
            raise Violation(f"two AlterPartition requests are under way: {asked}")

    def _look_at_log(self, node: int, records: list[LoggedRecord]) -> None:
        machines, log, partition = self._machines, self.log(node), self._machines.replica(node)
        assert log is not None
        assert partition is not None
        if log.high_watermark > log.log_end_offset:  # 4
            raise Violation(f"the high watermark of {node} is beyond its log")
        epochs = [record.epoch for record in records]
        if epochs != sorted(epochs):  # 3
            raise Violation(f"epochs fall in the log of {node}: {records}")
        for record in records:  # 3: one appender an epoch, so that logs with a common record have a common beginning
            if self._by_epoch.setdefault((record.epoch, record.offset), record.value) != record.value:
                raise Violation(f"{node} has {record}, elsewhere it is {self._by_epoch[record.epoch, record.offset]!r}")
        for epoch, start in log.epochs.entries():
            first = next((record.offset for record in records if record.epoch >= epoch), log.log_end_offset)
            if start != first and epoch in epochs:
                raise Violation(f"epoch {epoch} begins at {first} in the log of {node}, by its cache at {start}")
            if epoch not in epochs and self._leaders.get(epoch) != node:
                raise Violation(f"{node} knows epoch {epoch} from elsewhere than from records")
        before = self._marks.get(node)
        if before is not None and before[0] is log and log.high_watermark < before[1]:  # 4
            raise Violation(f"the high watermark of {node} went back")
        self._marks[node] = log, log.high_watermark
        led = partition.led
        if led is not None:
            if led.knows_high_watermark and log.high_watermark < len(self.committed) and machines.state.leader == node:
                raise Violation(f"{node} shows {log.high_watermark}, and {len(self.committed)} was shown before")
            isr = led.leading.isr
            state = machines.state
            same = (isr.leader_epoch, node) == (state.leader_epoch, state.leader)
            if same and not set(state.isr) <= isr.maximal:  # 6
                raise Violation(f"the ISR {state.isr} is more than {node} counts on: {sorted(isr.maximal)}")

    def _look_at_committed(self, node: int, records: list[LoggedRecord]) -> None:
        """1, 2 and 4: what one shows, all others show at the same place, ever after."""
        log = self.log(node)
        assert log is not None
        shown = [record for record in records if record.offset < log.high_watermark]
        committed = self.committed
        for record in shown:
            if record.offset >= len(committed):
                committed.append(record)
            elif committed[record.offset] != record:
                raise Violation(f"{node} shows {record}, and shown was {committed[record.offset]}")


class Copies:
    """One course of events. ``faults`` and ``records`` bound it; ``kinds`` are the faults that are drawn."""

    def __init__(
        self, machines: Machines, records: int, faults: int, kinds: frozenset[str], times: int = 1_000_000
    ) -> None:
        self.machines = machines
        self.watch = CopiesWatch(machines)
        self.records, self.faults, self.times = records, faults, times
        self.next_value = 0
        self._kinds = kinds
        #: Machines that were killed, and that lost power, until they have caught up. The controller cannot tell one from the other, so of
        #: two, where one lost power, both may be needed: min.insync.replicas - 1 is what is promised (KIP-966).
        self._killed: set[int] = set()
        self._powerless: set[int] = set()
        self.path: list[Event] = []

    # -- what is possible ---------------------------------------------------------------------------------------------

    def events(self) -> Iterator[Event]:
        machines = self.machines
        arriving = machines.arriving()
        for number in arriving:
            yield "arrive", number
        for node in machines.ids:
            replica = machines.replica(node)
            if self.records and replica is not None and replica.led is not None:
                yield "produce", node
            if node in machines.unnoticed:
                yield ("start" if machines.image.brokers[node].fenced else "fence"), node
            elif self._is_cut_off(node) != machines.image.brokers[node].fenced:
                yield ("fence" if self._is_cut_off(node) else "unfence"), node
        if machines.cut:
            yield ("heal",)
        if not arriving and self.times:
            yield ("time",)
        if self.faults:
            yield from ((name, *arguments) for name, *arguments in self._faults() if name in self._kinds)

    def _is_cut_off(self, node: int) -> bool:
        return (node, CONTROLLER) in self.machines.cut

    def _faults(self) -> Iterator[Event]:
        machines = self.machines
        living = machines.cluster.brokers.keys()
        for number in machines.may_be_lost():
            yield "lose", number
        for node in machines.ids:
            if node in living:
                if not self._powerless - {node}:
                    yield "kill", node
                if not self._killed - {node}:
                    yield "power", node
                if node in machines.state.isr and node != machines.state.leader:
                    yield "elect", node
                if not self._is_cut_off(node):
                    yield "isolate", node
        yield ("lag",)

    # -- what happens -------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Raises Violation."""
        name, *arguments = event
        self.path.append(event)
        if name not in _USUAL:
            self.faults -= 1
        getattr(self, f"_on_{name}", getattr(self.machines, name, None))(*arguments)  # type: ignore[misc]
        machines = self.machines
        caught_up = set(machines.state.isr) - machines.unnoticed
        self._powerless -= caught_up
        self._killed -= caught_up
        try:
            self.look()
        except Violation as violation:
            raise Violation(f"{violation}, after {self.path}") from None

    def look(self) -> None:
        """Raises Violation."""
        self.watch.look()

    def _on_produce(self, node: int) -> None:
        self.records -= 1
        value = b"%d" % self.next_value
        self.next_value += 1
        self.watch.produced[value] = self.machines.produce(node, value)

    def _on_kill(self, node: int) -> None:
        self._killed.add(node)
        self.machines.kill(node)

    def _on_power(self, node: int) -> None:
        self._killed.add(node)
        self._powerless.add(node)
        self.machines.kill(node, power=True)

    def _on_time(self) -> None:
        self.times -= 1
        self.machines.pass_time(1100)

    def _on_lag(self) -> None:
        self.machines.pass_time(LAG_MS + 1000)

    def come_back(self) -> None:
        """No more faults: everybody comes back."""
        machines = self.machines
        machines.heal()
        machines.flow()
        for node in machines.ids:
            if node in machines.unnoticed:
                machines.fence(node)
                machines.flow()
                machines.start(node)
            elif machines.image.brokers[node].fenced:
                machines.unfence(node)
            machines.flow()

    def finish(self) -> None:
        """Everybody comes back, and has everything. Raises Violation."""
        self.come_back()
        machines = self.machines
        machines.quiet()
        self.look()
        state = machines.state
        logs = [records_of(log) for node in machines.ids if (log := machines.log(node)) is not None]
        marks = {log.high_watermark for node in machines.ids if (log := machines.log(node)) is not None}
        if sorted(state.isr) != [*machines.ids] or any(each != logs[0] for each in logs) or marks != {len(logs[0])}:
            raise Violation(f"at the quiet end: {state}, {logs}, high watermarks {marks}, after {self.path}")
        waiting = [value for value, code in self.watch.produced.items() if not code.done]
        if waiting:
            raise Violation(f"nobody answers {waiting}, after {self.path}")


ALL_FAULTS = frozenset({"lose", "kill", "power", "elect", "isolate", "lag"})


def small_world(seed: int, steps: int = 50, **settings: Any) -> Copies:
    """One course of events out of a seed, to its quiet end. Raises Violation."""
    rng = Random(seed)
    copies = Copies(Machines(seed=seed, **settings), records=10, faults=rng.randint(1, 8), kinds=ALL_FAULTS)
    play(copies, rng, steps)
    return copies


def play(copies: Copies, rng: Random, steps: int, faults: float = 0.15) -> None:
    """So many events, drawn one after the other, of which ``faults`` are faults as long as there are some, and the quiet end. Raises Violation."""
    for _ in range(steps):
        possible = list(copies.events())
        usual = [each for each in possible if each[0] in _USUAL]
        wrong = [each for each in possible if each[0] not in _USUAL]
        some = wrong if wrong and (not usual or rng.random() < faults) else usual
        kind = rng.choice(sorted({each[0] for each in some}))
        if kind != "arrive" and rng.random() < 0.5:
            arrivals = [each for each in some if each[0] == "arrive"]
            some = arrivals or some
            kind = some[0][0] if arrivals else kind
        copies.apply(rng.choice([each for each in some if each[0] == kind]))
    copies.finish()
