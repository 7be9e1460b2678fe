"""``python -m compat_tests.published_bugs.faststream_bugs BUG``: a life of the FastStream that is in front of the path.

With aiokafka it lives in a world; librdkafka runs in threads, so that with confluent-kafka it lives in real time. Prints a line of JSON: the release
and what is found (null if nothing).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

os.environ["AIOKAFKA_NO_EXTENSIONS"] = "1"

from pykbroker.testing import Kafka
from pykbroker.worlds import World, explore

GROUP = {"group_id": "payers", "auto_offset_reset": "earliest"}


def _refusing(broker: Any, seen: list[bytes], two: asyncio.Event) -> None:
    """Subscribe a payer that refuses the first order once; tells of the second one."""
    from faststream.exceptions import NackMessage

    @broker.subscriber("orders", auto_commit=False, **GROUP)  # type: ignore[untyped-decorator]
    async def pay(order: bytes) -> None:
        seen.append(order)
        if seen == [b"first"]:
            raise NackMessage
        two.set()


def refused_is_acknowledged() -> str | None:
    """What a handler refuses is passed over, and with the next order committed."""
    from faststream.kafka import KafkaBroker

    async def test(world: World) -> None:
        kafka = await world.kafka(topics={"orders": 1})
        seen: list[bytes] = []

        async def payer() -> None:
            broker = KafkaBroker(kafka.bootstrap_servers, apply_types=False, logger=None)
            _refusing(broker, seen, asyncio.Event())
            await broker.start()
            await asyncio.Event().wait()

        for order in ("first", "second"):
            await kafka.produce("orders", order)
        world.host(payer)
        await world.sleep(30)
        assert seen.count(b"first") == 2, f"{seen}: what is refused is not read again"

    failure = explore(test, (), shrinking_runs=0)
    return None if failure is None else str(failure.error).partition("\n")[0]


def refused_is_acknowledged_by_librdkafka() -> str | None:
    """The same with confluent-kafka."""
    from faststream.confluent import KafkaBroker

    seen: list[bytes] = []

    async def payer(kafka: Kafka) -> None:
        broker, two = KafkaBroker(kafka.bootstrap_servers, apply_types=False, logger=None), asyncio.Event()
        _refusing(broker, seen, two)
        await broker.start()
        async with asyncio.timeout(90):
            await two.wait()
        await broker.close()

    with Kafka() as kafka:
        kafka.create_topic("orders", 1)
        for order in ("first", "second"):
            kafka.produce("orders", order)
        asyncio.run(payer(kafka))
    return None if seen[1] == b"first" else f"{seen}: what is refused is not read again"


def committed_while_worked_on() -> str | None:
    """An order that is to be acknowledged after the work is committed before."""
    from faststream import AckPolicy
    from faststream.confluent import KafkaBroker

    found: list[dict[tuple[str, int], int]] = []

    async def payer(kafka: Kafka) -> None:
        begun = asyncio.Event()
        broker = KafkaBroker(kafka.bootstrap_servers, apply_types=False, logger=None)

        @broker.subscriber("orders", ack_policy=AckPolicy.ACK, auto_commit_interval_ms=100, **GROUP)  # type: ignore[untyped-decorator]
        async def pay(_: bytes) -> None:
            begun.set()
            await asyncio.sleep(5)

        await broker.start()
        async with asyncio.timeout(60):
            await begun.wait()
        await asyncio.sleep(2)
        found.append(await asyncio.to_thread(kafka.committed, "payers"))
        await broker.stop()

    with Kafka() as kafka:
        kafka.create_topic("orders", 1)
        kafka.produce("orders", b"first")
        asyncio.run(payer(kafka))
    return f"{found[0]} is committed during the work" if found[0] else None


BUGS: dict[str, Callable[[], str | None]] = {
    each.__name__: each
    for each in (refused_is_acknowledged, refused_is_acknowledged_by_librdkafka, committed_while_worked_on)
}


def main() -> None:
    """Print what is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bug", choices=BUGS)
    found = BUGS[parser.parse_args().bug]()
    print(json.dumps({"release": version("faststream"), "found": found}))


if __name__ == "__main__":
    main()
