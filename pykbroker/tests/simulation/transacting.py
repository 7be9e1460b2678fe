"""Small worlds of transactions over copies: one producer's transactions in ``t``, whose coordinator's topic is copied, too.

The producer asks any broker for its next step, and again where it is refused or hears nothing. Each transaction has two records. Who reads what is
committed reads both or none of them, at every moment, none of what was not committed, and in the end all of what was. What an incarnation
of the producer has asked may arrive once more when another has begun, and a record that it has given up when its transaction is aborted: it
writes nothing behind the records of later transactions, and ends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from pykbroker.controller.topics import NewTopic
from pykbroker.handlers import add_partitions_to_txn, end_txn, fetch, init_producer_id, produce
from pykbroker.metadata.names import TRANSACTION_STATE
from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.clients.reading import FETCH_VERSION, committed, fetch_request
from pykbroker.simulation.machines import TOPIC, Machines
from pykbroker.tests.simulation.copies import ALL_FAULTS, Copies, Event, Violation, play
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.message import Message
from pykbroker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pykbroker.wire.messages.end_txn import EndTxnRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

_ID: Final = "one"
#: What an incarnation has asked at least before another begins: a transaction, and some of the next.
_ENOUGH: Final = 5
#: What a transaction writes; others are markers.
_RECORD: Final = re.compile(rb"(\d+)[ab]")
#: Errors after which the same is asked again; after others the producer begins anew.
_AGAIN: Final = frozenset(
    {
        *(ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        *(ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND),
        *(ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NETWORK_EXCEPTION),
        *(ErrorCode.REQUEST_TIMED_OUT, ErrorCode.KAFKA_STORAGE_ERROR),
    }
)


class TransactingMachines(Machines):
    """With the coordinator's topic."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(transaction_state_log_num_partitions="1", **settings)
        self.controller.create_topics(
            [NewTopic(TRANSACTION_STATE, assignments=[(0, list(self.ids))], configs={"min.insync.replicas": "2"})]
        )
        self.quiet()

    def elect_coordinator(self, node: int) -> None:
        """Let the controller make a replica in sync the coordinator."""
        self.controller.move_leader(TRANSACTION_STATE, 0, node)
        self._work()


class Transacted(Copies):
    """See the module. Every second transaction is aborted."""

    machines: TransactingMachines

    def __init__(self, machines: TransactingMachines, **bounds: Any) -> None:
        super().__init__(machines, **bounds)
        self._producer = (-1, -1)
        self._sequence = 0
        self._number = 0
        #: What is asked next, and the answer that is awaited.
        self._step = "init"
        self._answer: Deferred[Any] | None = None
        #: By transaction: whether it is committed, None while nobody knows.
        self.outcomes: dict[int, bool | None] = {}
        self._reads: list[tuple[dict[int, bool | None], Deferred[Any]]] = []
        #: What this incarnation has asked, by transaction and step, and what those before it have.
        self._own: dict[tuple[int, str], tuple[Any, Message, int]] = {}
        self._old: list[tuple[Any, Message, int]] = []
        #: How often another incarnation begins where one has not ended, and how often one gives a record up.
        self.restarts = self.losses = 0
        self._looked_at = self._last = 0

    def events(self) -> Iterator[Event]:
        """A step of the producer is what an append is elsewhere."""
        for event in super().events():
            if event[0] != "produce":
                yield event
        living = [node for node in self.machines.ids if self.machines.replica(node) is not None]
        likely = [self._leader()] * 5 if self._leader() in living else []  # most often who is to be asked
        if self.records:
            yield from (("ask", node) for node in (*living, *likely))
        yield from (("read", node) for node in living)
        yield from (("late", number, node) for number in range(len(self._old)) for node in (*living, *likely))
        if self.restarts and self._step in ("second", "end") and len(self._own) >= _ENOUGH:
            yield ("restart",)
        if self.losses and (self._number, self._step) in self._own and self._step in ("first", "second"):
            yield ("give_up",)
        if self.faults:
            topic = self.machines.image.topics[TRANSACTION_STATE].partitions[0]
            yield from (("elect_coordinator", node) for node in living if node in topic.isr and node != topic.leader)

    def _leader(self) -> int:
        """Of the topic that the next step is about, by the controller."""
        topic = TOPIC if self._step in ("first", "second") else TRANSACTION_STATE
        return self.machines.image.topics[topic].partitions[0].leader

    # -- the producer ---------------------------------------------------------------------------------------------------

    def _on_ask(self, node: int) -> None:
        """The next step, or the same again: of one that is not answered nobody knows."""
        self.records -= 1
        if self._answer is not None and self._answer.done:
            self._take(self._answer)
        step = getattr(self, f"_{self._step}")()
        if self._step != "init":
            self._own[self._number, self._step] = step
        self._answer = self.machines.ask(node, *step)
        self._end_of_step()

    def _on_restart(self) -> None:
        """The producer ends where it stands, and another begins."""
        self.restarts -= 1
        self._step, self._answer = "init", None

    def _on_give_up(self) -> None:
        """The producer hears nothing of a record for too long: it aborts, and then needs another epoch (KIP-360). The record may come late."""
        self.losses -= 1
        self._old.append(self._own[self._number, self._step])
        self._step, self._answer = "abort", None

    def _on_late(self, number: int, node: int) -> None:
        """A request of an earlier incarnation arrives once more; nobody waits for its answer."""
        self.machines.ask(node, *self._old[number])

    def _end_of_step(self) -> None:
        if self._answer is not None and self._answer.done:
            answer, self._answer = self._answer, None
            self._take(answer)

    def _take(self, answer: Deferred[Any]) -> None:
        self._answer = None
        code = (
            answer.error.code
            if isinstance(answer.error, KafkaError)
            else getattr(self, f"_{self._step}_code")(answer.value)
        )
        if code == ErrorCode.NONE:
            getattr(self, f"_{self._step}_done")(answer.value)
        elif code not in _AGAIN:
            self._step = "init"

    def _init(self) -> tuple[Any, Message, int]:
        return init_producer_id, InitProducerIdRequest(_ID, 60_000), 4

    def _init_code(self, response: Any) -> int:
        return response.error_code  # type: ignore[no-any-return]

    def _init_done(self, response: Any) -> None:
        """What was open, and its end was not asked for, is aborted."""
        self._producer, self._sequence = (response.producer_id, response.producer_epoch), 0
        if self._number in self.outcomes and self._number not in self._ending:
            self.outcomes[self._number] = False
        self._old += self._own.values()
        self._own.clear()
        self._begin()

    _ending: frozenset[int] = frozenset()

    def _begin(self) -> None:
        self._number += 1
        self.outcomes[self._number] = None
        self._step = "add"

    def _add(self) -> tuple[Any, Message, int]:
        producer_id, epoch = self._producer
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=_ID,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(TOPIC, [0])],
        )
        return add_partitions_to_txn, request, 3

    def _add_code(self, response: Any) -> int:
        return response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code  # type: ignore[no-any-return]

    def _add_done(self, _: Any) -> None:
        self._step = "first"

    def _first(self) -> tuple[Any, Message, int]:
        return self._append("a")

    def _second(self) -> tuple[Any, Message, int]:
        return self._append("b")

    def _append(self, which: str) -> tuple[Any, Message, int]:
        producer_id, epoch = self._producer
        batch = encode_batch(
            [Record(value=f"{self._number}{which}".encode())],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=self._sequence,
            transactional=True,
        )
        data = [TopicProduceData(TOPIC, partition_data=[PartitionProduceData(0, bytes(batch))])]
        return produce, ProduceRequest(_ID, -1, 2**30, data), 9

    def _first_code(self, response: Any) -> int:
        return response.responses[0].partition_responses[0].error_code  # type: ignore[no-any-return]

    _second_code = _first_code

    def _first_done(self, _: Any) -> None:
        self._sequence += 1
        self._step = "second"

    def _second_done(self, _: Any) -> None:
        self._sequence += 1
        self._step = "end"

    @property
    def _commits(self) -> bool:
        return self._number % 2 == 1

    def _end(self) -> tuple[Any, Message, int]:
        if self._commits:
            self._ending |= {self._number}
        else:
            self.outcomes[self._number] = False
        return end_txn, EndTxnRequest(_ID, *self._producer, self._commits), 3

    def _abort(self) -> tuple[Any, Message, int]:
        return end_txn, EndTxnRequest(_ID, *self._producer, committed=False), 3

    def _abort_done(self, _: Any) -> None:
        self._step = "init"

    def _end_code(self, response: Any) -> int:
        return response.error_code  # type: ignore[no-any-return]

    _abort_code = _end_code

    def _end_done(self, _: Any) -> None:
        self.outcomes[self._number] = self._commits
        self._begin()

    # -- readers ----------------------------------------------------------------------------------------------------------

    def _on_read(self, node: int) -> None:
        answer = self.machines.ask(node, fetch, fetch_request({(TOPIC, 0): 0}, 0), FETCH_VERSION)
        self._reads.append((dict(self.outcomes), answer))

    def look(self) -> None:
        self._end_of_step()
        super().look()
        shown = self.watch.committed
        for record in shown[self._looked_at :]:
            found = _RECORD.fullmatch(record.value)
            if found is not None and int(found[1]) < self._last:
                raise Violation(f"{record} is committed, and transaction {self._last} had begun: {shown}")
            self._last = self._last if found is None else int(found[1])
        self._looked_at = len(shown)
        for before, answer in [each for each in self._reads if each[1].done]:
            self._reads.remove((before, answer))
            if answer.error is None:
                self._look_at(answer.value)

    def _look_at(self, response: Any) -> list[str]:
        (data,) = response.responses[0].partitions
        values = [] if data.error_code else [each.value.decode() for each in committed(data, 0)[0]]
        for value in values:
            number = int(value[:-1])
            if {f"{number}a", f"{number}b"} - {*values}:
                raise Violation(f"of transaction {number} only {value} is read")
            if self.outcomes[number] is False or (self.outcomes[number] is None and number not in self._ending):
                raise Violation(f"{value} is read, which was not committed")
        if len({*values}) < len(values):
            raise Violation(f"twice is something in {values}")
        return values

    def finish(self) -> None:
        super().finish()
        machines = self.machines
        self.records = 100
        while self._step != "add" or self._answer is not None:
            if not self.records:
                raise Violation(f"the producer does not get on from {self._step}, after {self.path}")
            self._on_ask(self._leader())
            machines.quiet(4)
            self.look()
        answer = machines.ask(machines.state.leader, fetch, fetch_request({(TOPIC, 0): 0}, 0), FETCH_VERSION)
        values = self._look_at(answer.value)
        lost = [number for number, known in self.outcomes.items() if known and f"{number}a" not in values]
        if lost:
            raise Violation(f"{lost} were committed, and are not read, after {self.path}")
        log = machines.log(machines.state.leader)
        assert log is not None
        if log.last_stable_offset != log.high_watermark:
            raise Violation(
                f"readers are held up at {log.last_stable_offset} of {log.high_watermark}, after {self.path}"
            )


def transacted_world(seed: int, steps: int = 400) -> Transacted:
    """One course of events out of a seed, to its quiet end. Raises Violation."""
    rng = Random(seed)
    machines = TransactingMachines(seed=seed)
    world = Transacted(machines, records=60, faults=rng.randint(1, 6), kinds=ALL_FAULTS)
    world.restarts, world.losses = rng.choice((0, 1, 2)), rng.choice((0, 0, 1))
    play(world, rng, steps, faults=0.05)
    return world
