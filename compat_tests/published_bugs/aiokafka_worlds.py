"""``python -m compat_tests.published_bugs.aiokafka_worlds BUG``: lives a world with the aiokafka that is in front of the path.

Prints a line of JSON: the release, the seed by which the bug is found (null if by none) and how it shows.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import time
from collections.abc import Awaitable, Callable

os.environ["AIOKAFKA_NO_EXTENSIONS"] = "1"

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError

from pykbroker.worlds import World, explore

COPIES = {
    "default.replication.factor": 3,
    "offsets.topic.replication.factor": 3,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.num.partitions": 1,
}
ORDERS = [b"order %d" % number for number in range(20)]


async def fetcher_ends(world: World) -> None:
    """A rebalance, while the fetcher waits to try again after an error, ends it, and the consumer reads nothing more."""
    kafka = await world.kafka(brokers=3, settings=COPIES, topics={"orders": 6})
    seen: list[bytes] = []

    async def shop() -> None:
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, request_timeout_ms=60_000) as producer:
            for number, order in enumerate(ORDERS):
                await producer.send_and_wait("orders", order, partition=number % 6)
                await asyncio.sleep(0.5)

    async def payer() -> None:
        settings = {"bootstrap_servers": kafka.bootstrap_servers, "auto_offset_reset": "earliest", "group_id": "payers"}
        more = {"enable_auto_commit": False, "retry_backoff_ms": 1000, "heartbeat_interval_ms": 500}
        async with AIOKafkaConsumer("orders", **settings, **more) as consumer:
            while True:
                seen.append((await consumer.getone()).value)

    async def later() -> None:
        await asyncio.sleep(3)
        while True:
            with contextlib.suppress(KafkaError):  # of a broker that has gone, while it starts
                await payer()
            await asyncio.sleep(0.5)

    world.host(shop)
    world.host(payer, name="first")
    world.host(later, name="second")
    await world.sleep(3)
    coordinator = kafka.cluster.partition("__consumer_offsets", 0).leader
    await kafka.stop_broker(next(each for each in (1, 2, 3) if each != coordinator), abrupt=True)
    await world.sleep(90)
    assert set(seen) == set(ORDERS), f"{len(set(seen))} of {len(ORDERS)} are read"


async def coordinator_moves(world: World) -> None:
    """The broker that coordinates the transactions goes: the producer asks it for ever, or is at its end."""
    kafka = await world.kafka(brokers=3, settings=COPIES)
    await kafka.create_topic("charges", 1, replication_factor=3)
    done: list[int] = []

    async def payer() -> None:
        settings = {
            "bootstrap_servers": kafka.bootstrap_servers,
            "transactional_id": "payer",
            "transaction_timeout_ms": 10_000,
        }
        producer = AIOKafkaProducer(**settings, request_timeout_ms=5000)
        await producer.start()
        for number in range(6):
            while True:
                try:
                    async with producer.transaction():
                        await producer.send("charges", b"%d" % number)
                except KafkaError:
                    await asyncio.sleep(0.5)
                else:
                    break
            done.append(number)
            await asyncio.sleep(2)

    world.host(payer)
    await world.until(lambda: len(done) >= 2)
    broker = kafka.cluster.partition("__transaction_state", 0).leader
    await kafka.stop_broker(broker)
    await world.sleep(60)
    assert len(done) == 6, f"{len(done)} of 6 transactions are done a minute after the coordinator has gone"


async def solitary_abort(world: World) -> None:
    """A transaction that ends before its first record leaves an abort marker alone, and its reader fails over it."""
    kafka = await world.kafka(topics={"charges": 1})
    done: list[bytes] = []
    seen: list[bytes] = []

    async def payer() -> None:
        settings = {
            "bootstrap_servers": kafka.bootstrap_servers,
            "transactional_id": "payer",
            "transaction_timeout_ms": 5000,
        }
        producer = AIOKafkaProducer(**settings)
        await producer.start()
        for number in range(len(done), 8):
            async with producer.transaction():
                await producer.send("charges", b"%d" % number)
            done.append(b"%d" % number)
        await producer.stop()

    async def reader() -> None:
        settings = {"bootstrap_servers": kafka.bootstrap_servers, "auto_offset_reset": "earliest"}
        async with AIOKafkaConsumer("charges", **settings, isolation_level="read_committed") as consumer:
            while True:
                seen.append((await consumer.getone()).value)

    world.host(payer).crash(at=world.any_time(), restart=True)
    await world.sleep(30)
    world.host(reader)
    await world.sleep(20)
    assert set(seen) == set(done), f"{len(set(seen))} of {len(done)} are read"


BUGS: dict[str, Callable[[World], Awaitable[None]]] = {
    each.__name__: each for each in (fetcher_ends, coordinator_moves, solitary_abort)
}


def main() -> None:
    """Print how the bug is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bug", choices=BUGS)
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    began = time.process_time()
    found = explore(BUGS[given.bug], range(1, given.seeds + 1), shrinking_runs=0)
    told = {"release": aiokafka.__version__, "seconds": round(time.process_time() - began, 1)}
    print(
        json.dumps(
            {**told, "seed": found and found.seed, "found": found and f"{type(found.error).__name__}: {found.error}"}
        )
    )


if __name__ == "__main__":
    main()
