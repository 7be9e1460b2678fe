"""Small worlds of reassignments: a topic of four or five machines' moves from some of them to others while it is written and read, faults befall them
and operators throttle replication.

A reassignment may be taken back, or followed by another before it is over, and the topic may be deleted and made again by its name. At every
moment, beside what ``copies`` has, holds:

- a reassignment ends with the replicas that it asks for, and those that it added in sync, or all of them where it removes more than it adds; one
  that is taken back with those from before it;
- who has no replica by the metadata that it knows has none; who is asked tells what is committed, or nothing;
- a log has what was written to its own topic alone.

At the end, with the throttle of replication still on, nobody leaves the ISR for it, and what is under way comes to its end; then
those without a replica have no folder of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from pykbroker.controller.reassignments import Reassignment
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, PartitionImage
from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.machines import Machines, records_of
from pykbroker.storage.log.log import Log
from pykbroker.tests.kit.metadata import alter
from pykbroker.tests.simulation.copies import ALL_FAULTS, Copies, CopiesWatch, Event, Violation, play

#: Of a reassignment; with fewer, the loss of one machine loses what it alone has.
_FEWEST: Final = 2
_MOST: Final = 4
#: All faults, or those that leave few in sync.
_KINDS: Final = (ALL_FAULTS, frozenset({"isolate", "lag"}))
#: Bytes per second: a record in about two seconds.
_RATE: Final = 40
#: Rounds of a bit more than a second: longer than a replica may lag, and than a throttled reassignment takes.
_CALM: Final = 12
_LONGEST: Final = 200
_SIDES: Final = ("leader", "follower")
#: ``file.delete.delay.ms``, and more.
_DELETED_MS: Final = 61_000


class MovingMachines(Machines):
    """What operators do; a change that the controller refuses changes nothing."""

    def __init__(self, number: int, **settings: Any) -> None:
        # A replica whose leader has changed may be throttled although it is in the ISR, as in Apache Kafka: for a shorter time than it may lag.
        super().__init__(number, replicas=[1, 2, 3], replication_quota_window_num="5", **settings)

    def reassign(self, *replicas: int) -> bool:
        """Begin a reassignment, or without replicas take it back; whether that was done."""
        wanted = Reassignment(self.topic, 0, list(replicas) or None)
        (error,) = self.controller.alter_reassignments([wanted], same_factor=False).value
        self._work()
        return error is None

    def remake(self, *replicas: int) -> None:
        """Delete the topic, and create it again."""
        self.controller.delete_topics([self.image.topics[self.topic].id])
        self.create(replicas)
        self._work()

    def throttle(self, *sides: int) -> None:
        """Throttle replication on these sides, and on no other, for all replicas of the topic."""
        rates = {
            f"{side}_replication_throttled_rate": str(_RATE) if number in sides else None
            for number, side in enumerate(_SIDES)
        }
        replicas = {
            f"{side}_replication_throttled_replicas": "*" if number in sides else None
            for number, side in enumerate(_SIDES)
        }
        alter(self.controller, BROKER_RESOURCE, "", **rates)
        alter(self.controller, TOPIC_RESOURCE, self.topic, **replicas)
        self._work()

    @property
    def topic_id(self) -> bytes:
        """Of the topic that there is now."""
        return self.image.topics[self.topic].id


class MovesWatch(CopiesWatch):
    """Looks at one topic, as long as it is there."""

    def __init__(self, machines: MovingMachines) -> None:
        self.topic_id = machines.topic_id
        #: Whether it is looked at after each event: of several, a leader that acknowledged may be gone, and others do not know yet.
        self.after_each = True
        super().__init__(machines)

    def log(self, node: int) -> Log | None:
        partition = self._machines.replica(node)
        return partition.opened_log if partition is not None and partition.topic_id == self.topic_id else None

    def _look_at_answers(self) -> None:
        if self.after_each:
            super()._look_at_answers()


class Moved(Copies):
    """See the module."""

    machines: MovingMachines
    watch: MovesWatch

    def __init__(self, machines: MovingMachines, rng: Random, moves: int, **bounds: Any) -> None:
        super().__init__(machines, **bounds)
        self.watch = MovesWatch(machines)
        self.moves, self.remakes = moves, rng.choice((0, 0, 1))
        self._rng = rng
        #: By topic, what was written to it.
        self._written: dict[bytes, set[bytes]] = {machines.topic_id: set()}
        #: What producers were told, of all topics.
        self._codes: list[Deferred[int]] = []
        self._state = machines.state
        #: The replicas that were asked for last; whether a reassignment was just taken back, or asked for.
        self._target: Sequence[int] = machines.state.replicas
        self._taken_back = self._asked_now = False
        #: Those from before it, which are often asked for again.
        self._before: Sequence[int] = machines.state.replicas
        #: Whether it was asked for while another was under way: as in Apache Kafka, of which remains what it says nothing of.
        self._overtakes = False
        #: What happened.
        self.counts: Counter[str] = Counter()

    # -- what is possible -----------------------------------------------------------------------------------------------

    def events(self) -> Iterator[Event]:
        for event in super().events():
            if event[0] != "power" or self._may_lose(event[1]):
                yield event
        state, nodes = self.machines.state, [*self.machines.ids]
        if self.moves:
            drawn = [self._rng.sample(nodes, self._rng.randint(_FEWEST, _MOST)) for _ in range(2)]
            for target in (*drawn, self._before):
                if self._complete() & {*target}:
                    yield "reassign", *target
            before = {*state.isr} - {*state.adding_replicas}
            if _is_under_way(state) and (not before or before - self._powerless):
                yield ("cancel",)
            yield "throttle", *(number for number in range(len(_SIDES)) if self._rng.random() < 0.6)
        if self.remakes:
            target = self._rng.sample(nodes, 3)
            if not all(self.machines.image.brokers[node].fenced for node in target):  # which the controller refuses
                yield "remake", *target
        yield from (("read", node) for node in self.machines.cluster.brokers)

    def _complete(self) -> set[int]:
        """Who has all that is committed, by the controller, and whose disk has it still."""
        state = self.machines.state
        return {*state.isr, *state.eligible_leader_replicas} - self._powerless

    def _may_lose(self, node: int) -> bool:
        """Whether one has everything without this machine's disk, also when the reassignment ends, or is taken back: as in Apache Kafka that may
        leave fewer in sync than ``min.insync.replicas``.
        """
        state = self.machines.state
        others = self._complete() - {node}
        return node not in state.replicas or bool(
            others - {*state.removing_replicas} and others - {*state.adding_replicas}
        )

    # -- what happens ---------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Who has no replica and runs has nothing to catch up with. Raises Violation."""
        idle = {*self.machines.cluster.brokers} - {*self.machines.state.replicas}
        self._powerless -= idle
        self._killed -= idle
        super().apply(event)

    def _on_produce(self, node: int) -> None:
        self.records -= 1
        value = b"%d" % self.next_value
        self.next_value += 1
        partition = self.machines.replica(node)
        assert partition is not None
        self._written[partition.topic_id].add(value)
        code = self.machines.produce(node, value)
        self._codes.append(code)
        if partition.topic_id == self.watch.topic_id:
            self.watch.produced[value] = code

    def _on_reassign(self, *replicas: int) -> None:
        self.moves -= 1
        self._overtakes = _is_under_way(self.machines.state)
        self._before = self.machines.state.replicas[:_MOST]
        self._asked_now = True
        self._target = replicas
        self.machines.reassign(*replicas)

    def _on_cancel(self) -> None:
        self.moves -= 1
        self._taken_back = self.machines.reassign()
        self.counts["taken back" if self._taken_back else "refused"] += 1

    def _on_throttle(self, *sides: int) -> None:
        self.moves -= 1
        self.machines.throttle(*sides)

    def _on_remake(self, *replicas: int) -> None:
        self.remakes -= 1
        self.machines.remake(*replicas)
        self._target = self.machines.state.replicas
        self._written[self.machines.topic_id] = set()
        self._state = self.machines.state
        self.watch = MovesWatch(self.machines)

    def _on_read(self, node: int) -> None:
        """A consumer asks a broker for all."""
        partition = self.machines.replica(node)
        found = self.machines.read(node)
        if isinstance(found, int):
            return
        if partition is None:
            raise Violation(f"{node} has no replica, and tells {found}")
        log = partition.opened_log
        told = [] if log is None else [record.value for record in records_of(log, log.high_watermark)]
        if found != told:  # which is compared with what is committed
            raise Violation(f"{node} tells {found}, and {told} is committed there")

    # -- what must hold -------------------------------------------------------------------------------------------------

    def look(self) -> None:
        before, self._state = self._state, self.machines.state
        if before is not self._state:
            self._look_at_change(before, self._state)
        self._taken_back = self._asked_now = False
        self._look_at_replicas()
        super().look()

    def _look_at_change(self, before: PartitionImage, after: PartitionImage) -> None:
        if {*after.adding_replicas, *after.removing_replicas} - {*after.replicas}:
            raise Violation(f"a reassignment of others than the replicas: {after}")
        if not _is_under_way(before) or _is_under_way(after):
            return
        leaving = before.adding_replicas if self._taken_back else before.removing_replicas
        expected = [[each for each in before.replicas if each not in leaving]]
        if self._asked_now:  # instead of another, and over at once
            expected.append([*self._target])
        wrong = not (self._taken_back or self._overtakes) and after.replicas != [*self._target]
        if wrong or after.replicas not in expected:
            raise Violation(f"a reassignment to {self._target} ended with {after}, where there was {before}")
        if not self._taken_back:
            self.counts["ended"] += 1
            fewer = len(before.adding_replicas) < len(before.removing_replicas)
            staying = {*(after.replicas if fewer else before.adding_replicas)} & {*after.replicas}
            if not self._asked_now and not staying <= {*after.isr}:
                raise Violation(f"a reassignment ended before who stays was in sync: {after}")

    def _look_at_replicas(self) -> None:
        for node, broker in self.machines.cluster.brokers.items():
            partition = self.machines.replica(node)
            topic = self.machines.cluster.copies[node].image.topics.get(self.machines.topic)
            known = None if topic is None or node not in topic.partitions[0].replicas else topic.id
            if known != (None if partition is None else partition.topic_id):
                raise Violation(f"{node} has {partition}, by its metadata the topic is {topic}")
            for log in broker.logs.logs.values():
                if log.topic == self.machines.topic and log.topic_id != known:
                    raise Violation(f"{node} has a log of a replica that is gone")
            log = None if partition is None else partition.opened_log
            if partition is not None and log is not None:
                foreign = {record.value for record in records_of(log)} - self._written[partition.topic_id]
                if foreign:
                    raise Violation(f"{node} has {foreign} in another topic's log")

    def finish(self) -> None:
        """Everybody comes back, and the throttle stays on for a while."""
        self.watch.after_each = False
        self.come_back()
        self._calm_down()
        machines = self.machines
        if {*machines.state.adding_replicas} & {*machines.state.removing_replicas}:
            machines.reassign()  # as in Apache Kafka one that was asked for instead of another may wait for whom it removes
            self._state = machines.state
        for _ in range(_LONGEST):
            if not _is_under_way(machines.state):
                break
            self._pass_a_round()
        else:
            raise Violation(f"a reassignment does not end: {machines.state}, after {self.path}")
        machines.throttle()
        machines.quiet(24)
        self.watch.after_each = True
        self.look()
        state = machines.state
        logs = {node: log for node in machines.ids if (log := machines.log(node)) is not None}
        records = {node: records_of(log) for node, log in logs.items()}
        ends = {log.high_watermark for log in logs.values()} | {len(each) for each in records.values()}
        if sorted(state.isr) != sorted(state.replicas) or records.keys() != {*state.replicas} or len(ends) > 1:
            raise Violation(f"at the quiet end: {state}, {records}, {ends}, after {self.path}")
        self.counts["acknowledged"] = sum(code.done and not code.value for code in self._codes)
        waiting = [code for code in self._codes if not code.done]
        if waiting:
            raise Violation(f"nobody answers {len(waiting)} producers, after {self.path}")
        self._look_at_folders()

    def _calm_down(self) -> None:
        """Nobody who is in sync, and stays a replica, leaves the ISR, whatever is throttled."""
        machines = self.machines
        machines.flow()
        self.look()
        for _ in range(_CALM):
            isr = {*machines.state.isr}
            leader = machines.replica(machines.state.leader)
            if leader is not None and leader.led is not None:
                self._on_produce(machines.state.leader)
            self._pass_a_round()
            if isr & {*machines.state.replicas} - {*machines.state.isr}:
                raise Violation(f"of {isr} who does not lag has left: {machines.state}, after {self.path}")

    def _pass_a_round(self) -> None:
        self.machines.pass_time(1100)
        self.machines.flow()
        self._state = self.machines.state  # several changes may have come one after the other
        self.look()

    def _look_at_folders(self) -> None:
        machines = self.machines
        machines.pass_time(_DELETED_MS)
        machines.flow()
        for node, broker in machines.cluster.brokers.items():
            broker.logs.plan_removals()()
            disk = machines.disks[node]
            names = [name for name in disk.list("/data") if name.startswith(f"{machines.topic}-0")]
            here = {name for name in names if not name.endswith("-stray") and disk.list(f"/data/{name}")}
            if here != ({f"{machines.topic}-0"} if node in machines.state.replicas else set()):
                raise Violation(f"{node} has the folders {here}, of {machines.state}, after {self.path}")


def _is_under_way(state: PartitionImage) -> bool:
    return bool(state.adding_replicas or state.removing_replicas)


def reassigned_world(seed: int, steps: int = 120) -> Moved:
    """One course of events out of a seed, to its quiet end. Raises Violation."""
    rng = Random(seed)
    settings = {"replica_fetch_max_bytes": "100"} if rng.random() < 0.5 else {}
    machines = MovingMachines(rng.choice((4, 5)), seed=seed, **settings)
    world = Moved(
        machines, rng, moves=rng.randint(2, 8), records=25, faults=rng.randint(0, 8), kinds=rng.choice(_KINDS)
    )
    play(world, rng, steps, faults=0.1)
    return world
