"""Bugs in what is committed, and when."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import TopicPartition

from compat_tests.worlds.programs import ORDERS, bug, consumer, termination, with_orders
from pykbroker.worlds import World


@bug("the effect comes before the commit, and is not idempotent")
async def effect_before_commit(world: World, mended: bool) -> None:
    kafka = await with_orders(world)
    charges: list[bytes] = []

    async def payer() -> None:
        async with consumer(kafka, "orders") as orders:
            async for order in orders:
                if not mended or order.value not in charges:
                    charges.append(order.value)
                await orders.commit()

    world.host(payer).crash(world.any_time(), restart=True)
    await world.settle()
    world.judge(kafka, "orders", effects=charges)


@bug("the commit comes before the effect")
async def commit_before_effect(world: World, mended: bool) -> None:
    kafka = await with_orders(world)
    charges: list[bytes] = []

    async def payer() -> None:
        async with consumer(kafka, "orders") as orders:
            async for order in orders:
                if not mended:
                    await orders.commit()
                await asyncio.sleep(0.01)  # the payment service
                charges.append(order.value)
                if mended:
                    await orders.commit()

    world.host(payer).crash(world.any_time(), restart=True)
    await world.settle()
    world.judge(kafka, "orders", effects=charges, guarantee="at-least-once")


@bug("auto-commit, while the work is done in the background")
async def auto_commit_with_background_work(world: World, mended: bool) -> None:
    kafka = await with_orders(world)
    charges: list[bytes] = []

    async def charge(order: Any) -> None:
        await asyncio.sleep(0.5)
        charges.append(order.value)

    async def payer() -> None:
        working = set()
        async with consumer(kafka, "orders", enable_auto_commit=not mended, auto_commit_interval_ms=200) as orders:
            async for order in orders:
                if mended:
                    await charge(order)
                    await orders.commit()
                else:
                    task = asyncio.create_task(charge(order))
                    working.add(task)
                    task.add_done_callback(working.discard)

    world.host(payer).crash(world.any_time(), restart=True)
    await world.settle()
    world.judge(kafka, "orders", effects=charges, guarantee="at-least-once")


@bug("the offset of the last record is committed, not the next one")
async def off_by_one(world: World, mended: bool) -> None:
    kafka = await with_orders(world)
    charges: list[bytes] = []

    async def payer() -> None:
        ends = termination()
        async with consumer(kafka, "orders") as orders:
            while not ends.is_set():
                for partition, records in (await orders.getmany(timeout_ms=200, max_records=1)).items():
                    for order in records:
                        charges.append(order.value)
                        await orders.commit({partition: order.offset + mended})

    world.host(payer).terminate(world.any_time(), restart=True)
    await world.settle(at_most=300)
    world.judge(kafka, "orders", effects=charges)


@bug("a batch is worked on at once, and its end committed when the first is done")
async def commit_of_the_first_of_a_batch(world: World, mended: bool) -> None:
    kafka = await with_orders(world)
    charges: list[bytes] = []

    async def charge(order: Any) -> None:
        await asyncio.sleep(0.05 * (order.offset % 5))
        charges.append(order.value)

    async def payer() -> None:
        async with consumer(kafka, "orders", max_poll_records=5) as orders:
            while True:
                batches = await orders.getmany(timeout_ms=500)
                tasks = {asyncio.create_task(charge(order)) for records in batches.values() for order in records}
                if tasks:
                    rule = asyncio.ALL_COMPLETED if mended else asyncio.FIRST_COMPLETED
                    _, pending = await asyncio.wait(tasks, return_when=rule)
                    await orders.commit()
                    if pending:
                        await asyncio.wait(pending)

    world.host(payer).crash(world.any_time(), restart=True)
    await world.settle()
    world.judge(kafka, "orders", effects=charges, guarantee="at-least-once")


@bug("an error of the service is logged, and the record committed")
async def error_swallowed(world: World, mended: bool) -> None:
    kafka = await with_orders(world)
    charges: list[bytes] = []

    async def service() -> None:
        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while line := await reader.readline():
                charges.append(line.strip())
                writer.write(b"charged\n")

        await (await asyncio.start_server(take, port=80)).serve_forever()

    async def charge(value: bytes) -> None:
        reader, writer = await asyncio.open_connection("service", 80)
        writer.write(value + b"\n")
        if await reader.readline() != b"charged\n":
            raise ConnectionError("not charged")
        writer.close()

    async def payer() -> None:
        async with consumer(kafka, "orders") as orders:
            async for order in orders:
                while True:
                    try:
                        await charge(order.value)
                        break
                    except OSError:
                        if not mended:
                            break
                        await asyncio.sleep(0.2)
                await orders.commit()

    service_host = world.host(service)
    await world.sleep(0.1)
    world.host(payer)
    service_host.crash(world.any_time(), restart=2)
    await world.settle()
    world.judge(kafka, "orders", effects=charges, guarantee="at-least-once")


@bug("totals are kept in memory, and the offsets committed")
async def state_in_memory(world: World, mended: bool) -> None:
    kafka = await with_orders(world)
    saved: dict[str, Any] = {"total": 0, "next": 0}

    async def counter() -> None:
        total = saved["total"] if mended else 0
        async with consumer(kafka, "orders") as orders:
            if mended:
                orders.seek(TopicPartition("orders", 0), saved["next"])
            async for order in orders:
                total += int(order.value)
                if mended:
                    saved.update(total=total, next=order.offset + 1)  # in one transaction of the database
                else:
                    saved["total"] = total
                await orders.commit()

    world.host(counter).crash(world.any_time(), restart=True)
    await world.settle()
    assert saved["total"] == sum(map(int, ORDERS)), saved


@bug("records are done once by topic, partition and offset, and the topic is made again")
async def dedupe_by_offset(world: World, mended: bool) -> None:
    kafka = await with_orders(world, **{"auto.create.topics.enable": False})
    done: set[Any] = set()
    charges: list[bytes] = []

    async def payer() -> None:
        async with consumer(kafka, "orders", metadata_max_age_ms=1000) as orders:
            async for order in orders:
                known = order.value if mended else (order.topic, order.partition, order.offset)
                if known not in done:
                    done.add(known)
                    charges.append(order.value)
                await orders.commit()

    host = world.host(payer)
    host.terminate(at=8.0)
    await world.until(lambda: not host.running and host.starts)
    await kafka.delete_topic("orders")
    await world.sleep(1)
    await kafka.create_topic("orders")
    for number in range(world.random.randint(0, 3), 3):
        await kafka.produce("orders", f"new {number}")
    host.start()
    await world.settle()
    world.judge(kafka, "orders", effects=[each for each in charges if each.startswith(b"new")])
