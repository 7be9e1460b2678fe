"""A ledger of what stock clients were told: producers with acks=all, transactions, and a reader that looks at everything twice."""

from __future__ import annotations

import threading
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from compat_tests.brokers.histories import End, Observation

PARTITIONS = 3
RECORDS, MONEY = "ledger", "money"
_LONGEST_S = 60


class _Client:
    """Works in a thread until it is ended; raises then what went wrong in it."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            while not self._ended.is_set():
                self.step()
            self.finish()
        except BaseException as error:  # noqa: BLE001 - for the test's thread
            self._error = error

    def step(self) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Called when the last step was."""

    def end(self) -> None:
        """Raises what the client raised."""
        self._ended.set()
        self._thread.join(_LONGEST_S)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error


class Writer(_Client):
    """A stock producer, which is librdkafka's defaults: acks=all, and a record may come twice. Values rise in each partition."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap})
        self._next = 0
        #: By partition and value: the offset.
        self.acknowledged: dict[tuple[int, int], int] = {}
        #: When a value was produced, in monotonic nanoseconds, and what was acknowledged.
        self.produced_ns: dict[int, int] = {}
        self.sights: list[Observation] = []
        super().__init__()

    def step(self) -> None:
        partition, value = self._next % PARTITIONS, self._next
        self._next += 1
        self.produced_ns[value] = time.monotonic_ns()
        self._producer.produce(RECORDS, b"%d" % value, partition=partition, on_delivery=self._delivered)
        self._producer.poll(0.002)

    def _delivered(self, error: Any, message: Message) -> None:
        if error is None:
            value, partition = int(message.value() or b""), message.partition()
            assert partition is not None
            self.acknowledged[partition, value] = offset = message.offset() or 0
            self.sights.append(Observation(partition, offset, value, time.monotonic_ns()))

    def finish(self) -> None:
        self._producer.flush(_LONGEST_S)

    def outage_s(self, since: float, partitions: list[int]) -> float | None:
        """The time from ``since`` to the first acknowledgement of a record produced later, in the slowest of the partitions; None if one has
        none yet.
        """
        since_ns = round(since * 1e9)
        acknowledged = [each for each in list(self.sights) if self.produced_ns[each.value] >= since_ns]
        first = [next((each.at_ns for each in acknowledged if each.partition == index), None) for index in partitions]
        return (
            None
            if None in first
            else max(((at_ns - since_ns) / 1e9 for at_ns in first if at_ns is not None), default=0.0)
        )


class Payer(_Client):
    """Transactions with one value in each partition; after an error that is final another producer of the same id goes on."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._producer: Producer | None = None
        self._next = 0
        self.committed: set[int] = set()
        self.aborted: set[int] = set()
        super().__init__()

    @property
    def outcomes(self) -> dict[int, str]:
        """By value, as ``isolation`` names them."""
        return {
            value: "ok" if value in self.committed else "fail" if value in self.aborted else "info"
            for value in range(self._next)
        }

    def _ready(self) -> Producer:
        if self._producer is None:
            producer = Producer({"bootstrap.servers": self._bootstrap, "transactional.id": "payer"})
            producer.init_transactions(_LONGEST_S)
            self._producer = producer
        return self._producer

    def step(self) -> None:
        value = self._next
        self._next += 1
        try:
            producer = self._ready()
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                producer.produce(MONEY, b"%d" % value, partition=partition)
            if value % 5 == 0:
                producer.flush(_LONGEST_S)  # or nothing of it may be sent
                producer.abort_transaction(_LONGEST_S)
                self.aborted.add(value)
            else:
                producer.commit_transaction(_LONGEST_S)
                self.committed.add(value)
        except KafkaException:
            self._producer = None


class Reader(_Client):
    """Reads each topic from the beginning, on and on, as committed records come; ``seen`` has what it read by place."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = reader_of(bootstrap)
        self.seen: dict[tuple[str, int, int], int] = {}
        self.wrongs: list[str] = []
        self.sights: list[Observation] = []
        self.ends: list[End] = []
        super().__init__()

    def step(self) -> None:
        messages = self._consumer.consume(500, 0.2)
        read_ns = time.monotonic_ns()
        for message in messages:
            note(self.seen, self.wrongs, message)
            if message.error() is None and message.topic() == RECORDS:
                self.sights.append(
                    Observation(message.partition() or 0, message.offset() or 0, int(message.value() or b""), read_ns)
                )
        self._ask_for_an_end(len(self.ends) % PARTITIONS)

    def _ask_for_an_end(self, partition: int) -> None:
        requested_ns = time.monotonic_ns()
        try:
            found = self._consumer.get_watermark_offsets(TopicPartition(RECORDS, partition), timeout=1.0)
        except KafkaException:  # its leader is gone
            return
        if found is not None:
            self.ends.append(End(partition, found[1], requested_ns, time.monotonic_ns()))

    def finish(self) -> None:
        self._consumer.close()


def reader_of(bootstrap: str) -> Consumer:
    """A consumer of everything from the beginning."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "ledger",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for topic in (RECORDS, MONEY) for index in range(PARTITIONS)])
    return consumer


def note(seen: dict[tuple[str, int, int], int], wrongs: list[str], message: Message) -> None:
    """Note what was read at a place; another value at the same place is wrong."""
    if message.error() is not None:
        return
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    value = int(message.value() or b"")
    if seen.setdefault((topic, partition, offset), value) != value:
        wrongs.append(f"{topic}-{partition} {offset} was {seen[topic, partition, offset]}, and is {value}")


def read_everything(bootstrap: str) -> dict[tuple[str, int, int], int]:
    """What there is at the end."""
    found: dict[tuple[str, int, int], int] = {}
    wrongs: list[str] = []
    consumer = reader_of(bootstrap)
    deadline = time.monotonic() + _LONGEST_S
    ended: set[tuple[str | None, int | None]] = set()
    while len(ended) < 2 * PARTITIONS:
        assert time.monotonic() < deadline, f"read to the end are only {ended}"
        for message in consumer.consume(500, 0.2):
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                ended.add((message.topic(), message.partition()))
            note(found, wrongs, message)
    consumer.close()
    assert not wrongs
    return found
