"""Small worlds of coordinators: the partition that is copied is that of their topic, and clients are told numbers that never go back.

Of a group that is its committed offset, of a transactional id its producer id and epoch. Whoever asks when a number was told to anybody is told no
lesser one, by whatever broker it asks, and what an InitProducerId was told is told once: no answer is of a state that a failover undoes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any, Final, NamedTuple, cast

from pykbroker.handlers import describe_transactions, init_producer_id, offset_commit, offset_fetch
from pykbroker.metadata.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.machines import Machines
from pykbroker.tests.simulation.copies import ALL_FAULTS, Copies, Event, Violation, play
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.message import Message
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

_NAME: Final = "one"
#: Stands before all numbers: nothing is committed, or known, yet.
_NOTHING: Final = -1
Told = Deferred[int | None]


class CoordinatingMachines(Machines):
    """``change`` and ``look`` tell a number, None where they are refused."""

    #: Whether what a change is told is told to nobody else, before or after.
    unique = False

    def change(self, node: int, number: int) -> Told:
        """Ask a broker for a change; ``number`` rises."""
        raise NotImplementedError

    def look(self, node: int) -> Told:
        """Ask a broker for the number as it is."""
        raise NotImplementedError

    def _ask(self, node: int, handler: Any, request: Message, version: int, told: Callable[[Any], int | None]) -> Told:
        return self.ask(node, handler, request, version).map(told).recover(KafkaError, lambda _: None)


class GroupMachines(CoordinatingMachines):
    """A group that commits offsets, each larger than the one before."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(topic=CONSUMER_OFFSETS, offsets_topic_num_partitions="1", **settings)

    def change(self, node: int, number: int) -> Told:
        partition = OffsetCommitRequestPartition(0, number)
        request = OffsetCommitRequest(
            _NAME, topics=[OffsetCommitRequestTopic(CONSUMER_OFFSETS, partitions=[partition])]
        )

        def told(response: Any) -> int | None:
            return None if response.topics[0].partitions[0].error_code else number

        return self._ask(node, offset_commit, request, 8, told)

    def look(self, node: int) -> Told:
        request = OffsetFetchRequest(_NAME, [OffsetFetchRequestTopic(CONSUMER_OFFSETS, [0])])

        def told(response: Any) -> int | None:
            return None if response.error_code else cast("int", response.topics[0].partitions[0].committed_offset)

        return self._ask(node, offset_fetch, request, 5, told)


class TransactionMachines(CoordinatingMachines):
    """A transactional id with one producer after the other: each has an epoch or a producer id of its own, which fences those before it."""

    unique = True

    def __init__(self, **settings: Any) -> None:
        super().__init__(topic=TRANSACTION_STATE, transaction_state_log_num_partitions="1", **settings)

    def change(self, node: int, number: int) -> Told:
        del number
        request = InitProducerIdRequest(_NAME, 60_000)

        def told(response: Any) -> int | None:
            return None if response.error_code else _of(response)

        return self._ask(node, init_producer_id, request, 4, told)

    def look(self, node: int) -> Told:
        def told(response: Any) -> int | None:
            (state,) = response.transaction_states
            if state.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                return _NOTHING
            return None if state.error_code else _of(state)

        return self._ask(node, describe_transactions, DescribeTransactionsRequest([_NAME]), 0, told)


def _of(found: Any) -> int:
    number: int = (found.producer_id << 16) + found.producer_epoch
    return number


class _Asked(NamedTuple):
    """A request, and the largest number that anybody had been told when it was asked."""

    told: Told
    floor: int
    is_change: bool


class Coordinated(Copies):
    """See the module; an append is a change that a client asks for."""

    machines: CoordinatingMachines

    def __init__(self, machines: CoordinatingMachines, **bounds: Any) -> None:
        super().__init__(machines, **bounds)
        self.floor = _NOTHING
        self.changes = 0
        self._asked: list[_Asked] = []
        #: What changes were told.
        self.numbers: list[int] = []

    def events(self) -> Iterator[Event]:
        yield from super().events()
        if self.records:
            for node in self.machines.ids:
                if self.machines.replica(node) is not None:
                    yield "ask", node

    def _on_produce(self, node: int) -> None:
        self.records -= 1
        self.changes += 1
        self._note(partial(self.machines.change, node, self.changes), is_change=True)

    def _on_ask(self, node: int) -> None:
        self._note(partial(self.machines.look, node), is_change=False, is_behind=self._leads_no_more(node))

    def _leads_no_more(self, node: int) -> bool:
        """Whether a broker does not know yet that another one leads: as in Apache Kafka it tells what was committed under it."""
        replica = self.machines.replica(node)
        return replica is not None and replica.leader == node != self.machines.state.leader

    def _note(self, ask: Callable[[], Told], *, is_change: bool, is_behind: bool = False) -> None:
        floor = _NOTHING if is_behind else self.floor
        self._asked.append(_Asked(ask(), floor, is_change))

    def look(self) -> None:
        super().look()
        for asked in [each for each in self._asked if each.told.done]:
            self._asked.remove(asked)
            number = asked.told.value
            if number is None:
                continue
            if number < asked.floor:
                raise Violation(f"{number} is told, and {asked.floor} was told before it was asked for")
            if asked.is_change and self.machines.unique and (number in self.numbers or number == asked.floor):
                raise Violation(f"{number} is told twice")
            if asked.is_change:
                self.numbers.append(number)
            self.floor = max(self.floor, number)

    def finish(self) -> None:
        super().finish()
        found = self.machines.look(self.machines.state.leader)
        number = found.value if found.done else None
        if number is None or number < self.floor:
            raise Violation(f"at the quiet end {number} is told, and {self.floor} was before, after {self.path}")
        if self._asked:
            raise Violation(f"nobody answers {len(self._asked)} requests, after {self.path}")


KINDS: dict[str, Callable[..., CoordinatingMachines]] = {"groups": GroupMachines, "transactions": TransactionMachines}


def coordinated_world(kind: str, seed: int, steps: int = 60) -> Coordinated:
    """One course of events out of a seed, to its quiet end. Raises Violation."""
    rng = Random(seed)
    world = Coordinated(KINDS[kind](seed=seed), records=12, faults=rng.randint(1, 8), kinds=ALL_FAULTS)
    play(world, rng, steps)
    return world
