"""The lives of ``ExactlyOnce.java`` with librdkafka. Lines in: ``LIFE id kind bootstrap orders``. Lines out: ``LIFE id ok``, or why not."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

LIMIT_S: Final = 90


class Life:
    """One life: a shop writes orders, two payers charge each in a transaction with its offset."""

    def __init__(self, kind: str, bootstrap: str, orders: int) -> None:
        self.kind = kind
        self.orders = orders
        self.is_over = threading.Event()
        self._common: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "socket.timeout.ms": 3000,
            "retry.backoff.ms": 20,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "topic.metadata.refresh.interval.ms": 1000,
            "topic.metadata.refresh.fast.interval.ms": 50,
            "log_level": 0,
        }

    def live(self) -> str:
        """``ok``, or why not."""
        shop = ThreadPoolExecutor(1)
        work = [shop.submit(self.sell)]
        # A payer may stand in send_offsets_to_transaction for ever, whatever its limit: it is left behind, as its process would be killed.
        for name in ("payer-1", "payer-2"):
            threading.Thread(target=self.pay, args=(name,), daemon=True).start()
        try:
            seen = self.count(work)
        finally:
            self.is_over.set()
            shop.shutdown()
        work[0].result()
        return "ok" if seen == self.orders else f"only {seen} of {self.orders} in time"

    def sell(self) -> None:
        """Write the orders. Raises KafkaException."""
        producer = Producer(
            {
                **self._common,
                "client.id": "shop",
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 60_000,
            }
        )
        failed: list[KafkaError] = []

        def told(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failed.append(error)

        for number in range(self.orders):
            producer.produce("orders", b"order %d" % number, b"k%d" % (number % 5), on_delivery=told)
            producer.poll(0)
            time.sleep(0.02)
        if producer.flush(LIMIT_S) or failed:
            raise KafkaException(failed[0] if failed else KafkaError(KafkaError._TIMED_OUT))

    def pay(self, name: str) -> None:
        """Begin anew after whatever went wrong: with a new member, and a producer that fences the one before."""
        while not self.is_over.is_set():
            try:
                self._pay_as_one_member(name)
            except KafkaException:
                time.sleep(0.02)

    def _pay_as_one_member(self, name: str) -> None:
        reading: dict[str, Any] = {
            "client.id": name,
            "group.id": "payers",
            "group.protocol": self.kind,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
        }
        reading["max.poll.interval.ms"] = 12_000
        if self.kind == "classic":
            reading |= {"session.timeout.ms": 3000, "heartbeat.interval.ms": 300}
        writing = {"client.id": name, "transactional.id": name, "transaction.timeout.ms": 5000, "linger.ms": 0}
        consumer = Consumer({**self._common, **reading})
        try:
            producer = Producer({**self._common, **writing})
            producer.init_transactions(20)
            consumer.subscribe(["orders"])
            while not self.is_over.is_set():
                found = [each for each in consumer.consume(7, 0.1) if each.error() is None]
                if found:
                    self._charge(producer, consumer, found)
        finally:
            consumer.close()

    def _charge(self, producer: Producer, consumer: Consumer, found: list[Message]) -> None:
        """Charge what was read; all of it or nothing. Raises KafkaException."""
        producer.begin_transaction()
        offsets: dict[int, int] = {}
        for order in found:
            for topic in ("charges", "receipts"):
                producer.produce(topic, order.value(), order.key())
            partition, offset = order.partition(), order.offset()
            assert partition is not None
            assert offset is not None
            offsets[partition] = offset + 1
        positions = [TopicPartition("orders", partition, offset) for partition, offset in offsets.items()]
        _repeated(lambda: producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), 5))
        _repeated(lambda: producer.commit_transaction(10))

    def count(self, work: list[Future[None]]) -> int:
        """How many orders are charged, as soon as all are, or after the limit."""
        seen: set[bytes | None] = set()
        ends = time.monotonic() + LIMIT_S
        consumer = Consumer(
            {
                **self._common,
                "client.id": "counter",
                "group.id": "counter",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 100,
            }
        )
        consumer.assign([TopicPartition("charges", partition, 0) for partition in (0, 1)])
        try:
            while (
                len(seen) < self.orders
                and time.monotonic() < ends
                and not any(each.done() and each.exception() for each in work)
            ):
                seen |= {each.value() for each in consumer.consume(50, 0.1) if each.error() is None}
        finally:
            consumer.close()
        return len(seen)


def _repeated(call: Callable[[], None]) -> None:
    """Call again what may be called again, a few times: who waits longer than that begins anew. Raises KafkaException."""
    for tries_left in (2, 1, 0):
        try:
            call()
        except KafkaException as error:
            if not (tries_left and error.args[0].retriable()):
                raise
        else:
            return


def _live(words: list[str]) -> None:
    _, number, kind, bootstrap, orders = words
    try:
        said = Life(kind, bootstrap, int(orders)).live()
    except Exception as error:  # noqa: BLE001 - it is told
        said = repr(error).replace("\n", " ")
    print(f"LIFE {number} {said}", flush=True)


def main() -> None:
    """Live the lives of the lines."""
    for line in sys.stdin:
        threading.Thread(target=_live, args=(line.split(),)).start()


if __name__ == "__main__":
    main()
