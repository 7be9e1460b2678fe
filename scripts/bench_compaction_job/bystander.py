"""A producer on another topic: sends one record at a time, at a steady rate, and measures acknowledgement latency."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import KafkaException, Producer

from compat_tests.harness.process import BrokerProcess

_TOPIC = "bystander"
_PAUSE_S = 0.004
_VALUE = b"x" * 1024


@dataclass
class Latencies:
    """Seconds from produce to acknowledgement."""

    seconds: list[float] = field(default_factory=list)

    @property
    def median_ms(self) -> float:
        return statistics.median(self.seconds) * 1e3

    @property
    def p99_ms(self) -> float:
        return sorted(self.seconds)[int(len(self.seconds) * 0.99)] * 1e3

    @property
    def max_ms(self) -> float:
        return max(self.seconds) * 1e3


@contextmanager
def producing(broker: BrokerProcess) -> Iterator[Latencies]:
    """Produces in a thread while the block runs, and at least once; the block begins when the producer is connected."""
    found, connected, over = Latencies(), threading.Event(), threading.Event()
    thread = threading.Thread(target=_produce, args=(broker, found, connected, over))
    thread.start()
    connected.wait()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def produce_for(broker: BrokerProcess, seconds: float) -> Latencies:
    """Produce for some seconds."""
    with producing(broker) as found:
        time.sleep(seconds)
    return found


def _produce(broker: BrokerProcess, found: Latencies, connected: threading.Event, over: threading.Event) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "acks": "all"})
    try:
        _there_and_back(producer)
    finally:
        connected.set()
    while not over.is_set() or not found.seconds:
        found.seconds.append(_there_and_back(producer))
        time.sleep(_PAUSE_S)


def _there_and_back(producer: Producer) -> float:
    answered: list[float] = []

    def delivered(error: object, message: object) -> None:
        if error is not None:
            raise KafkaException(error)
        answered.append(time.perf_counter())

    begun = time.perf_counter()
    producer.produce(_TOPIC, _VALUE, on_delivery=delivered)
    while not answered:
        producer.poll(1)
    return answered[0] - begun
