"""Producers that are late, replaced, restarted or forgotten, in any order, against a model of what must be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode

IDS = ("one", "two")
PARTITIONS = 2
TIMEOUT_MS = 30_000


@dataclass
class Client:
    """One incarnation of a producer, and the serial numbers of the values in its open transaction."""

    producer: Producer
    values: list[int] = field(default_factory=list)
    offset: int | None = None
    #: An error came: a client has no choice but to begin anew.
    broken: bool = False


class Transactions(RuleBasedStateMachine):
    """Values are numbers that are given out in rising order, so the order of a partition's values is known."""

    def __init__(self) -> None:
        super().__init__()
        self.world = MemoryCluster(transaction_abort_timed_out_transaction_cleanup_interval_ms="5000")
        self.world.topic(partitions=PARTITIONS)
        self.clients: list[Client] = []
        self.next_value = 0
        self.expected: list[list[int]] = [[] for _ in range(PARTITIONS)]
        self.committed_offset: int | None = None

    def client(self, number: int) -> Client:
        return self.clients[number % len(self.clients)]

    @initialize()
    def first(self):
        self.begin_incarnation(IDS[0], 2)

    @rule(name=st.sampled_from(IDS), protocol=st.sampled_from([1, 2]))
    def incarnation(self, name, protocol):
        self.begin_incarnation(name, protocol)

    def begin_incarnation(self, name, protocol):
        producer = Producer(self.world, name, protocol, TIMEOUT_MS)
        self.clients.append(Client(producer.started()))

    @rule(number=st.integers(0, 20), partition=st.integers(0, PARTITIONS - 1))
    def send(self, number, partition):
        client = self.client(number)
        if client.broken:
            return
        value, self.next_value = self.next_value, self.next_value + 1
        if client.producer.send(b"%d" % value, index=partition) is ErrorCode.NONE:
            client.values.append(value * PARTITIONS + partition)
        else:
            client.broken = True

    @rule(number=st.integers(0, 20))
    def commit_offset(self, number):
        client = self.client(number)
        if client.broken:
            return
        value, self.next_value = self.next_value, self.next_value + 1
        if client.producer.commit_offset(value) is ErrorCode.NONE:
            client.offset = value
        else:
            client.broken = True

    @rule(number=st.integers(0, 20), commit=st.booleans())
    def end(self, number, commit):
        client = self.client(number)
        if client.broken:
            return
        empty = not client.values and client.offset is None
        code = client.producer.end(commit=commit)
        if code is ErrorCode.NONE and commit:
            for each in client.values:
                self.expected[each % PARTITIONS].append(each // PARTITIONS)
            if client.offset is not None and client.offset > (self.committed_offset or -1):
                self.committed_offset = client.offset
        elif code is not ErrorCode.NONE:
            client.broken = not (empty and code is ErrorCode.INVALID_TXN_STATE)
        client.values, client.offset = [], None

    @rule(number=st.integers(0, 20))
    def recover(self, number):
        client = self.client(number)
        code = client.producer.init(recover=True)
        if code is not ErrorCode.CONCURRENT_TRANSACTIONS:
            client.broken = code is not ErrorCode.NONE
        else:
            client.broken = True
        client.values, client.offset = [], None

    @rule(ms=st.integers(1, 20_000))
    def time_passes(self, ms):
        self.world.advance(ms)

    @rule(kill=st.booleans())
    def restart(self, kill):
        self.world.restart(kill=kill)

    @invariant()
    def readers_see_only_what_is_committed(self):
        for partition in range(PARTITIONS):
            seen = [int(value) for value in self.world.read(index=partition)]
            assert seen == sorted(seen)
            assert set(seen) <= set(self.expected[partition])

    def teardown(self):
        """In the end everything ends."""
        for _ in range(3):
            self.world.advance(TIMEOUT_MS)
        for partition in range(PARTITIONS):
            found = self.world.fetch("t", partition, 0)
            assert found.last_stable_offset == found.high_watermark
            assert [int(value) for value in self.world.read(index=partition)] == sorted(self.expected[partition])
        committed = self.world.committed(stable=True)
        assert committed == ({} if self.committed_offset is None else {("t", 0): self.committed_offset})


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
