"""A FastStream application in a world: pip install 'faststream[kafka]' beside pykbroker with its extra worlds."""

import asyncio
import os
from collections.abc import Awaitable, Callable

os.environ["AIOKAFKA_NO_EXTENSIONS"] = "1"
from faststream import AckPolicy, FastStream
from faststream.kafka import KafkaBroker

from pykbroker.worlds import World, kafka_world


def application(bootstrap_servers: str, charge: Callable[[str], Awaitable[None]]) -> FastStream:  # the code under test
    broker = KafkaBroker(bootstrap_servers, logger=None)

    @broker.subscriber("orders", group_id="payer", auto_offset_reset="earliest", ack_policy=AckPolicy.NACK_ON_ERROR)
    async def pay(order: str) -> None:
        await charge(order)

    return FastStream(broker, logger=None)


@kafka_world(seeds=20)
async def test_each_order_is_charged(world: World) -> None:
    kafka = await world.kafka(topics={"orders": 1})
    for number in range(20):
        await kafka.produce("orders", b"order %d" % number)
    charges: list[bytes] = []

    async def charge(order: str) -> None:
        await asyncio.sleep(1)
        charges.append(order.encode())

    async def payer() -> None:
        app = application(kafka.bootstrap_servers, charge)
        await app.start()
        await asyncio.Event().wait()

    world.host(payer).crash(at=world.any_time(), restart=True)
    await world.settle()
    world.judge(kafka, "orders", effects=charges, guarantee="at-least-once")
