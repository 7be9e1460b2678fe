"""Bugs that a rebalance brings out."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener

from compat_tests.worlds.programs import ORDERS, bug, consumer, termination, with_orders
from pykbroker.worlds import World


class _CommitsBefore(ConsumerRebalanceListener):
    """Commits what is done before partitions go."""

    def __init__(self, orders: AIOKafkaConsumer) -> None:
        self._orders = orders

    async def on_partitions_revoked(self, revoked: Any) -> None:
        await self._orders.commit()

    async def on_partitions_assigned(self, assigned: Any) -> None:
        """Nothing."""


@bug("partitions are given away without a commit of what is done")
async def revoke_without_commit(world: World, mended: bool) -> None:
    kafka = await with_orders(world, partitions=2)
    charges: list[bytes] = []

    async def payer() -> None:
        orders = consumer(kafka)
        orders.subscribe(["orders"], listener=_CommitsBefore(orders) if mended else None)
        async with orders:
            count = 0
            while True:
                for records in (await orders.getmany(timeout_ms=200, max_records=1)).values():
                    for order in records:
                        charges.append(order.value)
                        count += 1
                if count % 5 == 4:
                    await orders.commit()
                await asyncio.sleep(0.1)

    world.host(payer)
    await world.sleep(3 + 3 * world.random.random())
    world.host(payer)
    await world.settle(at_most=300)
    world.judge(kafka, "orders", effects=charges)


@bug("a paused consumer goes on with what another one does by now")
async def zombie_without_fencing(world: World, mended: bool) -> None:
    kafka = await with_orders(world, partitions=2)
    charges: list[bytes] = []

    async def payer() -> None:
        known: list[bytes] = charges if mended else []  # what the service knows, or only this process
        async with consumer(kafka, "orders") as orders:
            async for order in orders:
                if order.value not in known:
                    charges.append(order.value)
                    if not mended:
                        known.append(order.value)
                await asyncio.sleep(0.05)
                try:
                    await orders.commit()
                except Exception:  # noqa: BLE001 - it has lost the partition
                    continue

    world.host(payer).pause(world.any_time(), seconds=30)
    world.host(payer)
    await world.settle()
    world.judge(kafka, "orders", effects=charges)


@bug("the partitions of the first assignment are read for ever")
async def partitions_cached(world: World, mended: bool) -> None:
    kafka = await with_orders(world, partitions=2)
    charges: list[bytes] = []

    async def payer() -> None:
        async with consumer(kafka, "orders") as orders:
            mine = [] if mended else list(orders.assignment())
            while True:
                still = [each for each in mine if each in orders.assignment()]
                if mine and not still:
                    await asyncio.sleep(0.2)
                    continue
                for records in (await orders.getmany(*still, timeout_ms=200, max_records=2)).values():
                    charges.extend(order.value for order in records)
                    await asyncio.sleep(0.1)
                    await orders.commit()

    world.host(payer)
    world.host(payer).crash(world.any_time())
    await world.settle(at_most=300)
    world.judge(kafka, "orders", effects=charges, guarantee="at-least-once")


@bug("work takes longer than max.poll.interval.ms, and the partition goes to another one meanwhile")
async def work_longer_than_the_poll_interval(world: World, mended: bool) -> None:
    kafka = await world.kafka(topics={"orders": 2})
    charges: list[bytes] = []

    async def payer() -> None:
        interval = 300_000 if mended else 5_000
        async with consumer(kafka, "orders", max_poll_interval_ms=interval, rebalance_timeout_ms=5_000) as orders:
            while True:
                for partition, records in (await orders.getmany(timeout_ms=500, max_records=5)).items():
                    for order in records:
                        await asyncio.sleep(20 if world.random.random() < 0.02 else 0.2)  # a slow service, now and then
                        charges.append(order.value)
                    try:
                        await orders.commit({partition: records[-1].offset + 1})
                    except Exception:  # noqa: BLE001 - logged, as people do
                        continue

    world.host(payer)
    world.host(payer)
    await world.sleep(20)
    for order in ORDERS:
        await kafka.produce("orders", order, key=order)
    await world.settle(at_most=600)
    world.judge(kafka, "orders", effects=charges)


@bug("the consumer is not stopped, and its partitions wait for the end of its session")
async def consumer_not_stopped(world: World, mended: bool) -> None:
    kafka = await with_orders(world)
    begun: list[float] = []

    async def payer() -> None:
        ends = termination()
        orders = consumer(kafka, "orders")
        await orders.start()
        begun.append(world.now)
        while not ends.is_set():
            await orders.getmany(timeout_ms=200)
        if mended:
            await orders.stop()
        begun.append(world.now)

    host = world.host(payer)
    await world.sleep(10)
    host.terminate(restart=True)
    await world.sleep(60)
    _, ended, again = begun
    assert again - ended < 5, f"{again - ended:.1f} s without anybody who reads"
