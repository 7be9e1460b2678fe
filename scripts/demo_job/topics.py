"""The topics of the demo, and the publishers, which use librdkafka."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from scripts.demo_job.data import DAY_MS, DemoError, Flight, rows

FLIGHTS, PLANES, DELAYS = "flights", "planes", "delays"
FLIGHT_PARTITIONS = 4

#: Record timestamps are of 2013: retention by age would delete them at once.
_TOPICS = {
    FLIGHTS: (FLIGHT_PARTITIONS, {"retention.ms": "-1"}),
    PLANES: (1, {"cleanup.policy": "compact"}),
    DELAYS: (1, {"cleanup.policy": "compact"}),
}


def create_topics(bootstrap: str) -> None:
    """Create the three topics. Raises DemoError if one cannot be created or exists."""
    wanted = [NewTopic(name, partitions, 1, config=config) for name, (partitions, config) in _TOPICS.items()]
    admin = AdminClient({"bootstrap.servers": bootstrap})  # its requests end with it
    created: dict[str, Future[None]] = admin.create_topics(wanted)
    for name, future in created.items():
        try:
            future.result(timeout=30)
        except KafkaException as error:
            reason = error.args[0].str()
            raise DemoError(f"The topic {name} could not be created on {bootstrap}: {reason}") from None


def publish_planes(bootstrap: str) -> int:
    """Publish every aircraft of the register, keyed by tail number; returns how many."""
    delivery = _Delivery(bootstrap)
    planes = list(rows("planes"))
    for plane in planes:
        tailnum = plane.pop("tailnum")
        value = {"seats": int(plane["seats"] or 0), "model": plane["model"], "manufacturer": plane["manufacturer"]}
        delivery.send(PLANES, tailnum, json.dumps(value).encode())
    delivery.settle()
    return len(planes)


class FlightPublisher(threading.Thread):
    """Publishes flights in order of departure, keyed by tail number, as a year that takes ``seconds``.

    A day is sent only when all flights of the day before are acknowledged. So at any moment partitions are at most a
    day apart, and a watermark of two days loses nothing, however long a broker is down. Only the first day is published
    until ``go_on``, so that a reader that starts slowly follows the rest as it is published. If it ``closes``, a closing record follows.
    """

    def __init__(self, bootstrap: str, flights: list[Flight], seconds: float, *, closes: bool = True) -> None:
        super().__init__(name="publisher", daemon=True)
        self.flights = flights
        self.published = 0  # acknowledged
        self.time_ms = flights[0].time_ms  # how far the year has come
        self.finished = False
        self.failure: Exception | None = None
        self._delivery = _Delivery(bootstrap)
        self._seconds = seconds
        self._closes = closes
        self._followed = threading.Event()
        self._stopped = threading.Event()

    @property
    def closing_ms(self) -> int:
        """Return the timestamp of the closing record: thirty days after the last flight."""
        return self.flights[-1].time_ms + 30 * DAY_MS

    def run(self) -> None:
        try:
            self._publish()
        except Exception as error:  # noqa: BLE001 - shown by the main thread, which then ends the demo
            self.failure = error

    def go_on(self) -> None:
        """Publish the days after the first."""
        self._followed.set()

    def stop(self) -> None:
        """Stop; the thread ends soon after."""
        self._stopped.set()
        self._followed.set()

    def _publish(self) -> None:
        first_ms = day_ms = self.flights[0].time_ms
        start = 0.0
        per_ms = self._seconds / (self.flights[-1].time_ms - first_ms + 1)
        for position, flight in enumerate(self.flights):
            if flight.time_ms >= day_ms + DAY_MS:
                self._delivery.settle()
                self.published, self.time_ms = position, flight.time_ms
                if day_ms == first_ms:
                    self._followed.wait()
                    start = time.monotonic()
                day_ms += (flight.time_ms - day_ms) // DAY_MS * DAY_MS
                if self._stopped.wait(max(0.0, start + (day_ms - first_ms) * per_ms - time.monotonic())):
                    return
            self._delivery.send(FLIGHTS, flight.tailnum, flight.as_json(), flight.time_ms)
        self._delivery.settle()
        if self._closes:  # Not a flight: it advances the watermark, so that the open windows are closed.
            self._delivery.send(FLIGHTS, None, b'{"closing":true}', self.closing_ms)
            self._delivery.settle()
        self.published, self.time_ms = len(self.flights), self.flights[-1].time_ms
        self.finished = True


class _Delivery:
    """An idempotent producer: what ``settle`` has returned for is acknowledged."""

    def __init__(self, bootstrap: str) -> None:
        settings = {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "compression.type": "zstd",
            "linger.ms": 5,
            "delivery.timeout.ms": 120_000,  # time for a killed broker to come back
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,  # broker failures are part of the demo
        }
        self._producer = Producer(settings)
        self._failure: KafkaError | None = None
        self._report: Callable[[KafkaError | None, Message], None] = self._delivered

    def send(self, topic: str, key: str | None, value: bytes, time_ms: int = 0) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, on_delivery=self._report, timestamp=time_ms)
                return
            except BufferError:  # librdkafka's queue is full
                self._producer.poll(0.1)

    def settle(self) -> None:
        """Wait until everything sent is acknowledged. Raises DemoError if a record failed."""
        while self._producer.flush(1.0):
            pass
        if self._failure is not None:
            raise DemoError(f"The broker did not acknowledge a record: {self._failure.str()}")

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        self._failure = self._failure or error
