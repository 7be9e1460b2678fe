"""``python -m compat_tests.worlds.hashes``: prints the hash of the trace of some lives of each planted bug, for ``test_pythons.py``."""

from __future__ import annotations

import json
import logging
import os
import sys
from functools import partial

os.environ["AIOKAFKA_NO_EXTENSIONS"] = "1"

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from compat_tests.worlds import committing, producing, rebalancing  # noqa: F401 - they plant
from compat_tests.worlds.programs import BUGS
from pykbroker.worlds import World
from pykbroker.worlds.life import live

TOPICS = {"alpha": 3, "beta": 2, "gamma": 1}


async def several(world: World) -> None:
    """Several brokers, topics and members, among which aiokafka chooses by sets of strings."""
    kafka = await world.kafka(brokers=3, topics=TOPICS)

    async def shop() -> None:
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
            for number in range(20):
                await producer.send([*TOPICS][number % 3], b"%d" % number, key=b"%d" % number)

    async def payer() -> None:
        async with AIOKafkaConsumer(
            *TOPICS, bootstrap_servers=kafka.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
        ) as consumer:
            async for _ in consumer:
                await consumer.commit()

    for program in (shop, payer, payer):
        world.host(program).crash(world.any_time(), restart=True)
    await world.settle()


def main() -> None:
    """Print a JSON object: the version of Python, and the hashes by name and seed."""
    logging.disable()
    hashes = {
        f"{name} {seed}": live(partial(scenario, mended=False), seed).trace_hash
        for name, (_, scenario) in BUGS.items()
        for seed in (1, 2)
    }
    hashes |= {f"several {seed}": live(several, seed).trace_hash for seed in (1, 2)}
    print(json.dumps({"python": sys.version_info[:2], "hashes": hashes}))


if __name__ == "__main__":
    main()
