"""What the planted bugs share: orders to be charged, and clients as programs set them up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from pykbroker.worlds import World, WorldKafka

#: A program in a world, and whether its bug is mended.
Scenario = Callable[[World, bool], Coroutine[Any, Any, None]]

#: The planted bugs: name -> (what people write, the scenario).
BUGS: dict[str, tuple[str, Scenario]] = {}


def bug(what: str) -> Callable[[Scenario], Scenario]:
    """Plant a bug."""

    def planted(scenario: Scenario) -> Scenario:
        BUGS[scenario.__name__.replace("_", " ")] = what, scenario
        return scenario

    return planted


ORDERS = [b"%d" % number for number in range(20)]


async def with_orders(world: World, partitions: int = 1, **settings: object) -> WorldKafka:
    """Brokers with twenty orders in a topic, of four customers."""
    records = [
        {"key": str(number % 4), "value": str(number), "partition": number % 4 % partitions} for number in range(20)
    ]
    return await world.kafka(
        settings=settings, seed={"topics": {"orders": {"partitions": partitions, "records": records}}}
    )


def consumer(kafka: WorldKafka, *topics: str, **settings: Any) -> AIOKafkaConsumer:
    """A consumer of the group ``payers`` that begins with the first record and commits by hand."""
    chosen = {"group_id": "payers", "enable_auto_commit": False, "auto_offset_reset": "earliest", **settings}
    return AIOKafkaConsumer(*topics, bootstrap_servers=kafka.bootstrap_servers, **chosen)


def producer(kafka: WorldKafka, **settings: Any) -> AIOKafkaProducer:
    """A producer."""
    return AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, **settings)


def termination() -> asyncio.Event:
    """Set when the process is asked to end (SIGTERM)."""
    event = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(15, event.set)
    return event
