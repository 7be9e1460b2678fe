"""Clients that go on while nodes of a cluster fail, and what they may find afterwards."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable

from confluent_kafka import KafkaError, Producer

from compat_tests.quorum.test_coordinators import values

#: For how long librdkafka waits for a node that is paused: by default as long as these tests do.
PATIENCE = {"socket.timeout.ms": 5000, "request.timeout.ms": 5000}
PATIENCE_OF_READERS = {"socket.timeout.ms": 5000}
#: A guard: markers wait for a paused leader as long as replica.socket.timeout.ms and request.timeout.ms say, 30 s.
_LIMIT_S = 240


class Clients:
    """A client's thread, which runs until it is told to end."""

    def __init__(self, step: Callable[[], None]) -> None:
        self.count = 0
        #: The longest time that a step took.
        self.longest_s = 0.0
        self.error: Exception | None = None
        self._ends = threading.Event()
        self._further = threading.Condition()
        self._step = step
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._ends.is_set():
                began = time.monotonic()
                self._step()
                self._note(None, time.monotonic() - began)
        except Exception as error:  # noqa: BLE001 - the test's own thread looks at it
            self._note(error, 0.0)

    def _note(self, error: Exception | None, took_s: float) -> None:
        with self._further:
            self.error = error
            self.count += error is None
            self.longest_s = max(self.longest_s, took_s)
            self._further.notify_all()

    def goes_on(self) -> None:
        """Wait until it has done three steps more."""
        with self._further:
            before = self.count
            assert self._further.wait_for(lambda: self.count > before + 2 or self.error is not None, _LIMIT_S)
        assert self.error is None, self.error

    def end(self) -> None:
        self._ends.set()
        self._thread.join()
        assert self.error is None, self.error


class Ledger:
    """A producer of random records with acks=all; ``check`` compares what was acknowledged with what is read."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "delivery.timeout.ms": 120_000, **PATIENCE}
        )
        self._acknowledged: list[bytes] = []
        self._refused: list[KafkaError] = []

    def step(self) -> None:
        """Ten records, acknowledged or refused."""
        for _ in range(10):
            self._producer.produce(self._topic, uuid.uuid4().bytes, partition=0, on_delivery=self._settle)
        self._producer.flush(120)

    def check(self) -> int:
        """Whether the topic has the acknowledged records, in their order, and no other; their number."""
        assert not self._refused
        assert values(self._bootstrap, [self._topic], "read_uncommitted")[self._topic] == self._acknowledged
        return len(self._acknowledged)

    def _settle(self, error: KafkaError | None, message: object) -> None:
        self._refused.append(error) if error is not None else self._acknowledged.append(message.value())  # type: ignore[attr-defined]
