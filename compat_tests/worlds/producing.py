"""Bugs of those who write: sends, retries, transactions, and reads of what is not committed."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from compat_tests.worlds.programs import ORDERS, bug, consumer, producer, termination, with_orders
from pykbroker.worlds import World


@bug("the first consumer of a group begins with the latest record")
async def latest_at_the_first_join(world: World, mended: bool) -> None:
    kafka = await world.kafka(topics={"orders": 1})
    charges: list[bytes] = []

    async def shop() -> None:
        await asyncio.sleep(1)
        async with producer(kafka) as orders:
            for order in ORDERS:
                await orders.send_and_wait("orders", order)

    async def payer() -> None:
        async with consumer(kafka, "orders", auto_offset_reset="earliest" if mended else "latest") as orders:
            async for order in orders:
                charges.append(order.value)
                await orders.commit()

    world.host(shop)
    world.host(payer).pause(world.any_time(), seconds=3)
    await world.settle(at_most=300)
    world.judge(kafka, "orders", effects=charges, guarantee="at-least-once")


@bug("a send is not awaited, and the process ends")
async def send_never_awaited(world: World, mended: bool) -> None:
    kafka = await world.kafka(topics={"orders": 1})
    accepted: list[bytes] = []

    async def shop() -> None:
        ends = termination()
        orders = producer(kafka, linger_ms=20)
        await orders.start()
        for order in ORDERS:
            if ends.is_set():
                break
            await orders.send("orders", order)
            accepted.append(order)
            await asyncio.sleep(0.05)
        if mended:
            await orders.stop()

    world.host(shop).terminate(world.any_time())
    await world.sleep(30)
    there = [record.value for record in kafka.records("orders")]
    assert there == accepted, (there, accepted)


@bug("a time-out is taken for a failure, and the record sent again")
async def timeout_taken_for_failure(world: World, mended: bool) -> None:
    kafka = await world.kafka(topics={"orders": 1})

    async def shop() -> None:
        async with producer(kafka, enable_idempotence=mended) as orders:
            for order in ORDERS:
                while True:
                    try:
                        await asyncio.wait_for(orders.send_and_wait("orders", order), None if mended else 0.5)
                        break
                    except TimeoutError:
                        continue

    world.host(shop)
    await world.sleep(60)
    there = [record.value for record in kafka.records("orders")]
    assert there == ORDERS, there


@bug("sends that failed are sent again after the others")
async def retries_that_change_order(world: World, mended: bool) -> None:
    kafka = await world.kafka(topics={"orders": 1})
    settings: dict[str, Any] = {} if mended else {"request_timeout_ms": 500, "retry_backoff_ms": 50}
    begun: list[object] = []

    async def shop() -> None:
        async with producer(kafka, enable_idempotence=mended, **settings) as orders:
            begun.append(orders)
            rest = ORDERS
            while rest:
                failed = []
                for order in rest:
                    try:
                        await orders.send_and_wait("orders", order)
                    except KafkaError:
                        failed.append(order)
                rest = failed

    world.host(shop)
    await world.until(lambda: begun)  # aiokafka that meets no broker at its start gives up
    kafka.kill(world.any_time(), restart=2)
    await world.sleep(60)
    await world.until(lambda: kafka.is_ready)
    first = list(dict.fromkeys(record.value for record in kafka.records("orders")))
    assert first == ORDERS, first


async def _processor(world: World, kafka: Any, *, inside: bool) -> None:
    """Charges orders in transactions; the offsets are committed in them, or by the consumer."""
    orders = consumer(kafka, "orders", isolation_level="read_committed")
    charges = producer(kafka, transactional_id="processor")
    async with orders, charges:
        while True:
            batches = await orders.getmany(timeout_ms=500, max_records=4)
            if not batches:
                continue
            ends = {partition: records[-1].offset + 1 for partition, records in batches.items()}
            async with charges.transaction():
                for records in batches.values():
                    for order in records:
                        await charges.send("charges", order.value, key=order.key)
                if inside:
                    await charges.send_offsets_to_transaction(ends, "payers")
            if not inside:
                await orders.commit(ends)


@bug("offsets are committed outside of the transaction")
async def offsets_outside_the_transaction(world: World, mended: bool) -> None:
    kafka = await with_orders(world)
    await kafka.create_topic("charges")
    world.host(partial(_processor, world, kafka, inside=mended)).crash(world.any_time(), restart=True)
    await world.settle(at_most=600)
    world.judge(kafka, "orders", "charges")


@bug("what was aborted is read, too")
async def read_uncommitted_by_mistake(world: World, mended: bool) -> None:
    kafka = await with_orders(world)
    await kafka.create_topic("charges")
    booked: list[bytes] = []

    async def books() -> None:
        level = "read_committed" if mended else "read_uncommitted"
        async with consumer(kafka, "charges", group_id="books", isolation_level=level) as charges:
            async for charge in charges:
                if (charge.partition, charge.offset) not in seen:
                    seen.add((charge.partition, charge.offset))
                    booked.append(charge.value)
                await charges.commit()

    seen: set[Any] = set()
    world.host(partial(_processor, world, kafka, inside=True)).crash(world.any_time(), restart=True)
    world.host(books)
    await world.settle(at_most=600)
    world.judge(kafka, "orders", effects=booked)


@bug("records of one key go to any partition")
async def records_without_their_key(world: World, mended: bool) -> None:
    kafka = await world.kafka(topics={"changes": 2})
    seen: dict[bytes, list[int]] = {}

    async def writer() -> None:
        async with producer(kafka) as changes:
            for number in range(20):
                key = b"customer %d" % (number % 2)
                where = None if mended else number // 2 % 2
                await changes.send_and_wait("changes", b"%d" % number, key=key, partition=where)
                await asyncio.sleep(0.02)

    async def reader() -> None:
        async with consumer(kafka, "changes") as changes:
            changes.seek(TopicPartition("changes", 0), 0)
            async for change in changes:
                seen.setdefault(change.key, []).append(int(change.value))

    world.host(reader)
    await world.sleep(4)
    world.host(writer)
    await world.sleep(30)
    assert all(numbers == sorted(numbers) for numbers in seen.values()), seen
