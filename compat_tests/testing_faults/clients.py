"""One way to produce a record, and one to read it in a group, for each of four clients, with short tempers."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol

import aiokafka
import kafka
from confluent_kafka import Consumer, Producer

from compat_tests.harness.java import compile_java, java_command

#: Seconds until a test gives up; none of them waits for it.
LIMIT_S = 60


#: How long a client waits for an answer before it asks again, in milliseconds: soon, where it is to ask again, and otherwise not because
#: this machine stands still for a while, for then a record may be there twice.
HASTY_MS, PATIENT_MS = 1000, 9000


class Client(Protocol):
    def produce(self, bootstrap: str, topic: str, request_ms: int = HASTY_MS) -> str:
        """``v``, or ERROR and why."""

    def consume(self, bootstrap: str, topic: str, group: str) -> str:
        """The value of one record, which is committed; or ERROR and why."""


class Confluent:
    common: ClassVar[dict[str, Any]] = {"client.id": "app", "retry.backoff.ms": 10, "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50,
              "topic.metadata.refresh.fast.interval.ms": 20}  # fmt: skip

    def produce(self, bootstrap: str, topic: str, request_ms: int = HASTY_MS) -> str:
        limits = {
            "socket.timeout.ms": request_ms * 3 // 2,
            "request.timeout.ms": request_ms,
            "message.timeout.ms": 7000 + request_ms,
        }
        producer = Producer({**self.common, "bootstrap.servers": bootstrap, **limits})
        reported: list[str] = []  # a KafkaError does not bear to be compared with None
        producer.produce(
            topic, b"v", on_delivery=lambda error, _: reported.append("v" if error is None else f"ERROR {error.name()}")
        )
        producer.flush(LIMIT_S)
        return reported[0] if reported else "ERROR no answer"

    def consume(self, bootstrap: str, topic: str, group: str) -> str:
        consumer = Consumer(
            {**self.common, "bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
             "fetch.wait.max.ms": 200, "check.crcs": True, "enable.auto.commit": False, "fetch.error.backoff.ms": 10,
             "socket.timeout.ms": 1500}
        )  # fmt: skip
        consumer.subscribe([topic])
        try:
            ends = time.monotonic() + LIMIT_S
            while time.monotonic() < ends:
                message = consumer.poll(0.1)
                if message is not None and message.error() is None:
                    consumer.commit(message, asynchronous=False)
                    return (message.value() or b"").decode()
            return "ERROR nothing came"
        finally:
            consumer.close()


class KafkaPython:
    common: ClassVar[dict[str, Any]] = {
        "client_id": "app",
        "retry_backoff_ms": 10,
        "reconnect_backoff_ms": 10,
        "reconnect_backoff_max_ms": 50,
    }

    def produce(self, bootstrap: str, topic: str, request_ms: int = HASTY_MS) -> str:
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap,
            request_timeout_ms=request_ms * 3 // 2,
            delivery_timeout_ms=6500 + request_ms * 3 // 2,
            max_block_ms=8000,
            **self.common,
        )
        try:
            producer.send(topic, b"v").get(LIMIT_S)
        except kafka.errors.KafkaError as error:
            return f"ERROR {error!r}"
        else:
            return "v"
        finally:
            producer.close(timeout=1)

    def consume(self, bootstrap: str, topic: str, group: str) -> str:
        consumer = kafka.KafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
            fetch_max_wait_ms=200, request_timeout_ms=7000, session_timeout_ms=6000, metadata_max_age_ms=300,
            **self.common,
        )  # fmt: skip
        try:
            # One that joins a group before it has the topic's metadata is assigned nothing, joins again, and may fall silent:
            # with Apache Kafka too, once in sixty times where group.initial.rebalance.delay.ms is 0.
            consumer.partitions_for_topic(topic)
            ends = time.monotonic() + LIMIT_S
            while time.monotonic() < ends:
                for messages in consumer.poll(timeout_ms=100).values():
                    consumer.commit()
                    return messages[0].value.decode()
            return "ERROR nothing came"
        except kafka.errors.KafkaError as error:
            return f"ERROR {error!r}"
        finally:
            consumer.close(autocommit=False, timeout_ms=2000)


async def _started(make: Callable[[], Any]) -> Any:
    """A client that has met a broker. aiokafka asks each address once and gives up, however soon somebody would answer; its users
    begin again.
    """
    ends = time.monotonic() + LIMIT_S
    while True:
        client = make()
        try:
            await client.start()
        except aiokafka.errors.KafkaConnectionError:
            await client.stop()
            if time.monotonic() >= ends:
                raise
            await asyncio.sleep(0.01)
        else:
            return client


class Aiokafka:
    common: ClassVar[dict[str, Any]] = {"client_id": "app", "retry_backoff_ms": 10}

    def produce(self, bootstrap: str, topic: str, request_ms: int = HASTY_MS) -> str:
        limit_ms = request_ms * 3 // 2

        async def produced() -> str:
            producer = await _started(
                lambda: aiokafka.AIOKafkaProducer(
                    bootstrap_servers=bootstrap, request_timeout_ms=limit_ms, **self.common
                )
            )
            try:
                await asyncio.wait_for(producer.send_and_wait(topic, b"v"), LIMIT_S)
            except (aiokafka.errors.KafkaError, TimeoutError) as error:
                return f"ERROR {error!r}"
            else:
                return "v"
            finally:
                await producer.stop()

        return asyncio.run(produced())

    def consume(self, bootstrap: str, topic: str, group: str) -> str:
        async def consumed() -> str:
            consumer = await _started(
                lambda: aiokafka.AIOKafkaConsumer(
                    topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
                    enable_auto_commit=False, fetch_max_wait_ms=200, request_timeout_ms=2000, **self.common,
                )
            )  # fmt: skip
            try:
                message = await asyncio.wait_for(consumer.getone(), LIMIT_S)
                await consumer.commit()
                return message.value.decode()
            except (aiokafka.errors.KafkaError, TimeoutError) as error:
                return f"ERROR {error!r}"
            finally:
                await consumer.stop()

        return asyncio.run(consumed())


class Java:
    """One virtual machine for all."""

    def __init__(self) -> None:
        self._machine: subprocess.Popen[str] | None = None

    def _ask(self, line: str) -> str:
        if self._machine is None:
            classes = compile_java([Path(__file__).parent / "RoundTrips.java"], "kafka")
            self._machine = subprocess.Popen(
                java_command("RoundTrips", "kafka", classes=classes),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        writing: IO[str] | None = self._machine.stdin
        reading: IO[str] | None = self._machine.stdout
        assert writing is not None
        assert reading is not None
        writing.write(line + "\n")
        writing.flush()
        return reading.readline().strip()

    def produce(self, bootstrap: str, topic: str, request_ms: int = HASTY_MS) -> str:
        del request_ms  # it is idempotent
        return self._ask(f"produce {bootstrap} {topic}")

    def consume(self, bootstrap: str, topic: str, group: str) -> str:
        return self._ask(f"consume {bootstrap} {topic} {group}")

    def close(self) -> None:
        if self._machine is not None:
            self._machine.communicate()
