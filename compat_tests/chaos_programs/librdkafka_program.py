"""The lives of ``ExactlyOnce.java`` with librdkafka. Lines in: ``LIFE id kind bootstrap orders``. Lines out: ``LIFE id ok``, or why not.

Payers are processes (``librdkafka_payer.py``) that are watched, since librdkafka may stand still for ever (docs/faults.md): one that makes
no progress is killed and started again, as by whoever runs services. Each is told on stderr, with the call that it stood in.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from compat_tests.chaos_programs.librdkafka_payer import common

LIMIT_S: Final = 90
PAYER: Final = "compat_tests.chaos_programs.librdkafka_payer"
#: A payer that says nothing for so long stands still: more than any call of it may take by its limits.
STANDS_S: Final = 25


class Life:
    """One life: a shop writes orders, two payers charge each in a transaction with its offset."""

    def __init__(self, number: str, kind: str, bootstrap: str, orders: int) -> None:
        self.number = number
        self.kind = kind
        self.bootstrap = bootstrap
        self.orders = orders
        self.is_over = threading.Event()
        self._common = common(bootstrap)

    def live(self) -> str:
        """``ok``, or why not."""
        shop = ThreadPoolExecutor(1)
        work = [shop.submit(self.sell)]
        payers = [threading.Thread(target=self.pay, args=(name,)) for name in ("payer-1", "payer-2")]
        for each in payers:
            each.start()
        try:
            seen = self.count(work)
        finally:
            self.is_over.set()
            for each in payers:
                each.join()
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

        def reported(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failed.append(error)

        for number in range(self.orders):
            producer.produce("orders", b"order %d" % number, b"k%d" % (number % 5), on_delivery=reported)
            producer.poll(0)
            time.sleep(0.02)
        if producer.flush(LIMIT_S) or failed:
            raise KafkaException(failed[0] if failed else KafkaError(KafkaError._TIMED_OUT))

    def pay(self, name: str) -> None:
        """Run a payer, and another one in its place as often as it ends or stands still."""
        while not self.is_over.is_set():
            with Watched([sys.executable, "-m", PAYER, name, self.kind, self.bootstrap]) as payer:
                if payer.stands(self.is_over):
                    print(f"life {self.number}: {name} stood still in: {payer.last}", file=sys.stderr, flush=True)

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


class Watched:
    """A payer's process. Each line that it writes names what it begins to do."""

    def __init__(self, command: list[str]) -> None:
        self.last = "its start"
        self._polled = threading.Event()
        self._running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.kill()
        self._running.wait()
        self._reader.join()
        assert self._running.stdout is not None
        self._running.stdout.close()

    def _read(self) -> None:
        assert self._running.stdout is not None
        for line in self._running.stdout:
            self.last = line.strip()
            self._polled.set()
        self._polled.set()

    def stands(self, is_over: threading.Event) -> bool:
        """Wait until it says nothing for too long, True, or has ended, or is not needed any more, False."""
        begun = time.monotonic()
        while not is_over.is_set() and self._running.poll() is None:
            if self._polled.wait(0.1):
                begun = time.monotonic()
                self._polled.clear()
            elif time.monotonic() - begun > STANDS_S:
                return True
        return False


def _live(words: list[str]) -> None:
    _, number, kind, bootstrap, orders = words
    try:
        said = Life(number, kind, bootstrap, int(orders)).live()
    except Exception as error:  # noqa: BLE001 - it is told
        said = repr(error).replace("\n", " ")
    sys.stdout.write(f"LIFE {number} {said}\n")  # at once, since lives end in threads
    sys.stdout.flush()


def main() -> None:
    """Live the lives of the lines."""
    for line in sys.stdin:
        threading.Thread(target=_live, args=(line.split(),)).start()


if __name__ == "__main__":
    main()
