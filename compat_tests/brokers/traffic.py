"""Traffic that goes on while brokers come and go: each kind counts what is acknowledged, and keeps what clients complain of."""

from __future__ import annotations

import subprocess
import threading
import time
from abc import ABC, abstractmethod
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer

from compat_tests.harness.java import compile_java, java_command

#: What librdkafka tells of a connection that ended, and mends itself.
_PASSING = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT}
_PAUSE_S = 0.005


class Traffic(ABC):
    """Started by the constructor. ``progress`` grows, whatever happens, until ``stop_sending``."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    @abstractmethod
    def progress(self) -> list[int]:
        """Counts that all must grow."""

    @abstractmethod
    def stop_sending(self) -> int:
        """Send no more; returns how many records were acknowledged: the numbers from 0 on."""

    @abstractmethod
    def close(self) -> None:
        """End everything."""


class JavaTraffic(Traffic):
    """The Java client: an idempotent producer, and a group that copies what it reads in transactions."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, copies: str, group: str, protocol: str) -> None:
        super().__init__()
        classes = compile_java([Path(__file__).parent / "Traffic.java"], "kafka")
        arguments = [bootstrap, topic, str(partitions), copies, group, protocol]
        self._process = subprocess.Popen(
            [*java_command("Traffic", "kafka", classes=classes), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._counts = {"sent": 0, "copied": 0, "total": -1}
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            what, _, rest = line.strip().partition(" ")
            if what in self._counts:
                self._counts[what] = max(int(rest), self._counts[what])
            elif what == "error":
                self.errors.append(rest)

    def progress(self) -> list[int]:
        return [self._counts["sent"], self._counts["copied"]]

    def stop_sending(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        deadline = time.monotonic() + 60
        while self._counts["total"] < 0:
            assert time.monotonic() < deadline, "the Java producer did not end"
            time.sleep(_PAUSE_S)
        return self._counts["total"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join()
            assert self._process.stdout is not None
            self._process.stdout.close()


class LibrdkafkaTraffic(Traffic):
    """librdkafka: an idempotent producer, and a consumer group that commits as it reads."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, group: str) -> None:
        super().__init__()
        self._topic, self._partitions = topic, partitions
        self._sending = self._reading = True
        self._sent = self._read = 0
        settings = {"bootstrap.servers": bootstrap, "error_cb": self._complaint}
        self._producer = Producer({**settings, "enable.idempotence": True, "linger.ms": 2})
        self._consumer = Consumer({**settings, "group.id": group, "auto.offset.reset": "earliest"})
        self._threads = [threading.Thread(target=self._send), threading.Thread(target=self._consume)]
        for thread in self._threads:
            thread.start()

    def _complaint(self, error: KafkaError) -> None:
        if error.code() not in _PASSING:
            self.errors.append(str(error))

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self._sent += 1
        else:
            self.errors.append(f"not delivered: {error}")

    def _send(self) -> None:
        number = 0
        while self._sending:
            self._producer.produce(
                self._topic, b"%d" % number, partition=number % self._partitions, on_delivery=self._delivered
            )
            number += 1
            self._producer.poll(_PAUSE_S)
        if self._producer.flush(60):
            self.errors.append("records were never delivered")

    def _consume(self) -> None:
        self._consumer.subscribe([self._topic])
        while self._reading:
            message = self._consumer.poll(0.1)
            if message is None:
                continue
            if message.error():
                self._complaint(message.error())
            else:
                self._read += 1
        self._consumer.close()

    def progress(self) -> list[int]:
        return [self._sent, self._read]

    def stop_sending(self) -> int:
        self._sending = False
        self._threads[0].join()
        return self._sent

    def close(self) -> None:
        self._sending = self._reading = False
        for thread in self._threads:
            thread.join()
