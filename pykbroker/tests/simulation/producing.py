"""Small worlds of an idempotent producer over copies: batches with sequences, several of them on their way, asked again where nothing is heard.

Whatever was sent may arrive once more, at any leader and any time later: behind its successors, and from an epoch that the producer has
left. What is committed has each batch once, in the order of epochs and sequences without a gap, and each that was acknowledged where
the producer was told.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final, NamedTuple

from pykbroker.handlers import produce
from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.machines import TOPIC, Machines
from pykbroker.tests.simulation.copies import ALL_FAULTS, Copies, Event, Violation, play
from pykbroker.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from pykbroker.wire.records import Record, encode_batch

_PRODUCER: Final = 7
_VERSION: Final = 9
_ALL: Final = -1
#: Batches on their way at most, as ``max.in.flight.requests.per.connection`` allows; and epochs that the producer begins.
_IN_FLIGHT: Final = 5
_EPOCHS: Final = 3
#: Of one world: all faults, or those after which a broker leads that was cut to what another had, or has started.
_KINDS: Final = (ALL_FAULTS, frozenset({"elect", "isolate"}), frozenset({"elect", "kill"}))


class Batch(NamedTuple):
    """One record, whose value says which it is."""

    epoch: int
    sequence: int

    @property
    def value(self) -> bytes:
        """What is in the log."""
        return b"%d.%d" % self

    @property
    def request(self) -> ProduceRequest:
        """The request that has it."""
        data = encode_batch(
            [Record(value=self.value)],
            producer_id=_PRODUCER,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
        )
        return ProduceRequest(
            acks=_ALL,
            timeout_ms=2**30,
            topic_data=[TopicProduceData(TOPIC, partition_data=[PartitionProduceData(0, bytearray(data))])],
        )


class Produced(Copies):
    """See the module."""

    def __init__(self, machines: Machines, **bounds: Any) -> None:
        super().__init__(machines, **bounds)
        #: All that was sent, and what is acknowledged.
        self.sent: list[Batch] = []
        self.known: set[Batch] = set()
        self._epoch = self._sequence = 0
        self._answers: list[tuple[Batch, Deferred[Any]]] = []
        self._looked_at = 0
        self._last = Batch(-1, 0)

    def events(self) -> Iterator[Event]:
        may_go_on = len(self._unknown()) < (_IN_FLIGHT if self.known else 1)  # the first is awaited, as by clients
        for event in super().events():
            if event[0] != "produce" or may_go_on:
                yield event
        leaders = [
            node
            for node in self.machines.ids
            if (replica := self.machines.replica(node)) is not None and replica.led is not None
        ]
        for node in leaders:
            if self._unknown():
                yield "retry", node
            yield from (("again", number, node) for number in range(len(self.sent)))
        if self._sequence and self._epoch < _EPOCHS:
            yield ("begin_epoch",)

    def _unknown(self) -> list[Batch]:
        """What the producer has sent in its epoch and waits for, in order."""
        return [batch for batch in self.sent if batch.epoch == self._epoch and batch not in self.known]

    def _on_produce(self, node: int) -> None:
        self.records -= 1
        batch = Batch(self._epoch, self._sequence)
        self._sequence += 1
        self.sent.append(batch)
        self._send(batch, node)

    def _on_retry(self, node: int) -> None:
        self._send(self._unknown()[0], node)

    def _on_again(self, number: int, node: int) -> None:
        self._send(self.sent[number], node)

    def _on_begin_epoch(self) -> None:
        """The producer gives up what it waits for, and begins an epoch (KIP-360)."""
        self._epoch += 1
        self._sequence = 0

    def _send(self, batch: Batch, node: int) -> None:
        self._answers.append((batch, self.machines.ask(node, produce, batch.request, _VERSION)))

    def look(self) -> None:
        super().look()
        for each in [each for each in self._answers if each[1].done]:
            self._answers.remove(each)
            self._take(*each)
        committed = self.watch.committed
        for record in committed[self._looked_at :]:
            batch = Batch(*map(int, record.value.split(b".")))
            epoch, sequence = self._last
            if batch != (epoch, sequence + 1) and not (batch.epoch > epoch and batch.sequence == 0):
                raise Violation(f"{batch} is committed behind {self._last}: {committed}")
            self._last = batch
        self._looked_at = len(committed)

    def _take(self, batch: Batch, answer: Deferred[Any]) -> None:
        found: PartitionProduceResponse = answer.value.responses[0].partition_responses[0]
        if found.error_code:
            return
        committed = self.watch.committed
        if found.base_offset >= len(committed) or committed[found.base_offset].value != batch.value:
            raise Violation(f"{batch} was acknowledged at {found.base_offset} of {committed}")
        self.known.add(batch)

    def finish(self) -> None:
        """The producer asks for what it waits for; what it wrote last each leader knows, so a repeat of it has its offset."""
        super().finish()
        for batch in self._unknown():
            self._ask_leader(batch)
        batches = [batch for batch in self.sent if batch.epoch == self._epoch]
        committed = {record.value for record in self.watch.committed}
        lost = [batch for batch in batches if batch.value not in committed]
        for last in batches[-1:]:
            self.known.discard(last)
            self._ask_leader(last)
            lost += [last] * (last not in self.known)
        if lost or self._answers:
            raise Violation(f"{lost} are not there, or {len(self._answers)} requests not answered, after {self.path}")

    def _ask_leader(self, batch: Batch) -> None:
        self._send(batch, self.machines.state.leader)
        self.machines.flow()
        self.look()


def produced_world(seed: int, steps: int = 80) -> Produced:
    """One course of events out of a seed, to its quiet end. Raises Violation."""
    rng = Random(seed)
    world = Produced(Machines(seed=seed), records=20, faults=rng.randint(1, 8), kinds=rng.choice(_KINDS))
    play(world, rng, steps)
    return world
