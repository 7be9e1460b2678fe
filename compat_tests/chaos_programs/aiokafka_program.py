"""The lives of ``ExactlyOnce.java`` with aiokafka, at least once: what is charged is committed afterwards. Lines in: ``LIFE id kind
bootstrap orders``. Lines out: ``LIFE id ok``, or why not.

No transactions: aiokafka's are of before KIP-447, and a connection that ends while its producer looks for the coordinator ends the producer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

LIMIT_S: Final = 90


class Life:
    """One life: a shop writes orders, two payers charge each, and commit what is charged."""

    def __init__(self, bootstrap: str, orders: int) -> None:
        self.orders = orders
        self.common: dict[str, Any] = {
            "bootstrap_servers": bootstrap,
            "request_timeout_ms": 20_000,
            "retry_backoff_ms": 20,
            "metadata_max_age_ms": 1000,
        }

    async def live(self) -> str:
        """``ok``, or why not."""
        payers = {asyncio.create_task(self.pay(name)) for name in ("payer-1", "payer-2")}
        try:
            seen, _ = await asyncio.gather(self.count(), self.sell())
        finally:
            while payers:  # aiokafka loses a cancellation that comes while it closes a client (test_aiokafka.py)
                for each in payers:
                    each.cancel()
                _, payers = await asyncio.wait(payers, timeout=1)
        return "ok" if seen == self.orders else f"only {seen} of {self.orders} in time"

    async def sell(self) -> None:
        """Write the orders. Raises KafkaError."""
        settings = {**self.common, "client_id": "shop", "request_timeout_ms": 60_000}
        async with _started(lambda: AIOKafkaProducer(**settings, enable_idempotence=True, linger_ms=5)) as producer:
            sent = []
            for number in range(self.orders):
                sent.append(await producer.send("orders", b"order %d" % number, b"k%d" % (number % 5)))
                await asyncio.sleep(0.02)
            for each in sent:
                await each

    async def pay(self, name: str) -> None:
        """Begin anew after whatever went wrong, with a new member and a new producer."""
        while True:
            with contextlib.suppress(KafkaError, TimeoutError):
                await self._pay_as_one_member(name)
            await asyncio.sleep(0.02)

    async def _pay_as_one_member(self, name: str) -> None:
        def consumer() -> AIOKafkaConsumer:
            return AIOKafkaConsumer(
                "orders", **self.common, client_id=name, group_id="payers", auto_offset_reset="earliest", enable_auto_commit=False,
                fetch_max_wait_ms=100, session_timeout_ms=3000, heartbeat_interval_ms=300, rebalance_timeout_ms=10_000,
                max_poll_interval_ms=30_000,
            )  # fmt: skip

        def producer() -> AIOKafkaProducer:
            return AIOKafkaProducer(**self.common, client_id=name, enable_idempotence=True)

        async with _started(producer) as writing, _started(consumer) as reading:
            while True:
                for partition, orders in (await reading.getmany(timeout_ms=100, max_records=7)).items():
                    for order in orders:
                        for topic in ("charges", "receipts"):
                            await writing.send_and_wait(topic, order.value, order.key)
                    await reading.commit({partition: orders[-1].offset + 1})

    async def count(self) -> int:
        """How many orders are charged, as soon as all are, or after the limit."""
        seen: set[bytes] = set()
        ends = time.monotonic() + LIMIT_S
        settings = {**self.common, "client_id": "counter", "fetch_max_wait_ms": 100}
        async with _started(lambda: AIOKafkaConsumer(**settings, auto_offset_reset="earliest")) as consumer:
            consumer.assign([TopicPartition("charges", partition) for partition in (0, 1)])
            while len(seen) < self.orders and time.monotonic() < ends:
                for charges in (await consumer.getmany(timeout_ms=100)).values():
                    seen |= {each.value for each in charges}
        return len(seen)


@contextlib.asynccontextmanager
async def _started(making: Callable[[], Any]) -> AsyncIterator[Any]:
    """A client that has met a broker. aiokafka asks each address once and gives up; its users begin again. Raises KafkaError."""
    ends = time.monotonic() + LIMIT_S
    while True:
        client = making()
        try:
            await client.start()
        except KafkaError:
            await client.stop()
            if time.monotonic() > ends:
                raise
            await asyncio.sleep(0.02)
        else:
            break
    try:
        yield client
    finally:
        await client.stop()


async def _live(words: list[str]) -> None:
    _, number, _, bootstrap, orders = words
    try:
        said = await Life(bootstrap, int(orders)).live()
    except Exception as error:  # noqa: BLE001 - it is told
        said = repr(error).replace("\n", " ")
    print(f"LIFE {number} {said}", flush=True)


async def main() -> None:
    """Live the lives of the lines."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as lives:
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            lives.create_task(_live(line.split()))


if __name__ == "__main__":
    asyncio.run(main())
