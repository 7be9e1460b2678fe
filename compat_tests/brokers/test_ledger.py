"""Three brokers with copies under a ledger: each is killed, stopped, cut off from the others and held up in turn, as leader and as follower.

Nothing that was acknowledged with acks=all is lost, nothing that was read is taken back, transactions are all or none. ``LEDGER_ROUNDS`` says how
often each thing befalls each broker; figures are printed.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections import Counter
from functools import partial

import pytest

from compat_tests.brokers import isolation
from compat_tests.brokers.histories import Observation, verdict
from compat_tests.brokers.ledger import MONEY, PARTITIONS, RECORDS, Payer, Reader, Writer, read_everything
from compat_tests.harness import awaiting
from compat_tests.harness.go_cases import GO
from pykbroker.partitions.partition import Partition
from pykbroker.storage.log.log import Log
from pykbroker.testing import KafkaCluster

ROUNDS = int(os.environ.get("LEDGER_ROUNDS", "1"))
_SETTINGS = {
    "min.insync.replicas": 2,
    "default.replication.factor": 3,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "replica.lag.time.max.ms": 2000,
}
_LIMIT_S = 60
#: What is awaited in a test of this file, and looked at often.
until = partial(awaiting.until, limit_s=_LIMIT_S, pause_s=0.01)


def led_by(kafka: KafkaCluster, broker: int) -> list[int]:
    """The partitions of the records that a broker leads."""
    topics = kafka.wait_until(lambda cluster: cluster.metadata.image.topics)
    return [index for index, each in topics[RECORDS].partitions.items() if each.leader == broker]


class Ledger:
    """The clients, and what befalls the brokers meanwhile."""

    def __init__(self, kafka: KafkaCluster) -> None:
        self.kafka = kafka
        self.writer, self.payer = Writer(kafka.bootstrap_servers), Payer(kafka.bootstrap_servers)
        self.reader = Reader(kafka.bootstrap_servers)
        self.befell: Counter[str] = Counter()
        self.outages: list[float] = []

    def befall(self, name: str, broker: int) -> None:
        """One thing, until clients go on and all is in sync again."""
        kafka, others = self.kafka, [each for each in (1, 2, 3) if each != broker]
        led = led_by(kafka, broker)
        self.befell[name] += 1
        since = time.monotonic()
        handle = kafka.broker(broker)
        if name == "cut":
            handle.partition_from(*others)
        else:
            {"kill": handle.kill, "stop": handle.stop, "pause": handle.pause}[name]()
        if name in ("kill", "stop"):
            until(lambda: self.writer.outage_s(since, led) is not None, f"{name} {broker}: no acknowledgement")
            if name == "kill" and led:
                self.outages.append(self.writer.outage_s(since, led) or 0.0)
            handle.start()
        else:
            others_led = [index for index in range(PARTITIONS) if index not in led]
            until(lambda: self.writer.outage_s(since, others_led) is not None, f"{name} {broker}: no acknowledgement")
            handle.resume() if name == "pause" else handle.heal()
        kafka.wait_for_in_sync(timeout=_LIMIT_S)
        committed = len(self.payer.committed)
        until(lambda: len(self.payer.committed) > committed + 2, f"{name} {broker}: no transaction")

    def end(self) -> None:
        for client in (self.writer, self.payer, self.reader):
            client.end()


def check(ledger: Ledger, found: dict[tuple[str, int, int], int]) -> None:
    acknowledged = ledger.writer.acknowledged
    lost = {
        (partition, value): offset
        for (partition, value), offset in acknowledged.items()
        if found.get((RECORDS, partition, offset)) != value
    }
    assert not lost
    assert not ledger.reader.wrongs
    taken_back = {place: value for place, value in ledger.reader.seen.items() if found.get(place) != value}
    assert not taken_back
    times = Counter(value for (topic, _, _), value in found.items() if topic == MONEY)
    assert set(times.values()) <= {PARTITIONS}  # each in all partitions, and once
    assert ledger.payer.committed <= times.keys()
    assert not ledger.payer.aborted & times.keys()


def judged(ledger: Ledger, found: dict[tuple[str, int, int], int]) -> str:
    """What Porcupine says of the records, their acknowledgements and the ends that were asked for meanwhile."""
    if GO is None:
        return "not asked, since Go is not installed"
    now = time.monotonic_ns()
    at_last = [Observation(place[1], place[2], value, now) for place, value in found.items() if place[0] == RECORDS]
    sights = [*ledger.writer.sights, *ledger.reader.sights, *at_last]
    return verdict(sights, ledger.reader.ends, ledger.writer.produced_ns)


def judged_transactions(payer: Payer, *found: dict[tuple[str, int, int], int]) -> str:
    """What adya says of the transactions, and of what was read of them."""
    if isolation.CARGO is None:
        return "not asked, since Cargo is not installed"
    reads = [
        {
            index: [
                value for (topic, partition, _), value in sorted(each.items()) if (topic, partition) == (MONEY, index)
            ]
            for index in range(PARTITIONS)
        }
        for each in found
    ]
    return isolation.verdict(payer.outcomes, reads, PARTITIONS)


def test_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    with KafkaCluster(_SETTINGS) as kafka:
        kafka.create_topic(RECORDS, PARTITIONS)
        kafka.create_topic(MONEY, PARTITIONS)
        ledger = Ledger(kafka)
        until(lambda: ledger.payer.committed and ledger.writer.acknowledged, "clients do not begin")
        for _ in range(ROUNDS):
            for broker in (1, 2, 3):
                for name in ("kill", "stop", "cut", "pause"):
                    for index in range(PARTITIONS):
                        if name == "kill" and index == broker % PARTITIONS:  # it leads something
                            kafka.move_leader(RECORDS, index, to=broker)
                    ledger.befall(name, broker)
        ledger.end()
        found = read_everything(kafka.bootstrap_servers)
    check(ledger, found)
    porcupine = judged(ledger, found)
    assert porcupine.startswith(("ok", "not asked"))
    adya = judged_transactions(ledger.payer, ledger.reader.seen, found)
    assert adya.startswith(("ok", "not asked"))
    with capsys.disabled():
        sys.stdout.write(
            f"\nledger: {dict(ledger.befell)}, {len(ledger.writer.acknowledged)} records and {len(ledger.payer.committed)} transactions, "
            f"none lost; after a kill of a leader the first acknowledgement came after "
            f"{statistics.median(ledger.outages):.2f} s, at most {max(ledger.outages):.2f} s; Porcupine: {porcupine}, adya: {adya}\n"
        )


def test_a_ledger_notices_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers that acknowledge what no other has yet: one is cut off, and killed before it is told to go on alone."""
    monkeypatch.setattr(Partition, "committed", lambda *_: None)
    with KafkaCluster({**_SETTINGS, "replica.lag.time.max.ms": 600_000}) as kafka:
        kafka.create_topic(RECORDS, PARTITIONS)
        kafka.create_topic(MONEY, PARTITIONS)
        ledger = Ledger(kafka)
        kafka.move_leader(RECORDS, 0, to=1)
        handle = kafka.broker(1)
        handle.partition_from(2, 3)
        since, acknowledged = time.monotonic(), ledger.writer.outage_s
        until(lambda: acknowledged(since, [0]) is not None, "no acknowledgement")
        handle.kill()
        handle.heal()
        handle.start()
        kafka.wait_for_in_sync(timeout=_LIMIT_S)
        ledger.end()
        found = read_everything(kafka.bootstrap_servers)
    with pytest.raises(AssertionError, match="assert not"):
        check(ledger, found)
    assert judged(ledger, found).startswith(("illegal", "not asked"))


@pytest.mark.skipif(isolation.CARGO is None, reason="Cargo is not installed")
def test_a_reader_of_aborted_transactions_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers that do not tell which transactions were aborted."""
    monkeypatch.setattr(Log, "aborted_transactions", lambda *_: [])
    with KafkaCluster(_SETTINGS) as kafka:
        for topic in (RECORDS, MONEY):
            kafka.create_topic(topic, PARTITIONS)
        payer = Payer(kafka.bootstrap_servers)
        until(lambda: payer.aborted and payer.committed, "no transactions")
        payer.end()
        found = read_everything(kafka.bootstrap_servers)
    assert "G1a" in judged_transactions(payer, found)


@pytest.mark.skipif(isolation.CARGO is None, reason="Cargo is not installed")
def test_orders_that_contradict_each_other_are_noticed() -> None:
    assert isolation.verdict({1: "ok", 2: "ok"}, [{0: [1, 2], 1: [1, 2]}], 2) == "ok 4"
    assert "G0" in isolation.verdict({1: "ok", 2: "ok"}, [{0: [1, 2], 1: [2, 1]}], 2)
    assert "G1a" in isolation.verdict({1: "ok", 2: "fail"}, [{0: [1, 2], 1: [1]}], 2)
