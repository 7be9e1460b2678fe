"""What aiokafka 0.14 does wrong when a task is cancelled while it closes a client: the task goes on.

``AIOKafkaClient.close`` and ``Fetcher.close`` cancel tasks of their own, await them and take every CancelledError for theirs. So the payers of
``aiokafka_program.py``, which close their clients to begin anew, are cancelled until they have ended.
"""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer

from pykbroker.testing import Kafka

#: Turns of the loop in which a consumer without a group is closed, at the most.
TURNS = 100


async def goes_on(bootstrap: str, turns: int) -> bool:
    """Whether a task goes on that is cancelled after so many turns of the loop, while it stops a consumer."""
    consumer = AIOKafkaConsumer("t", bootstrap_servers=bootstrap)
    await consumer.start()
    is_closing = True

    async def stop() -> None:
        nonlocal is_closing
        await consumer.stop()
        is_closing = False
        await asyncio.sleep(0)

    task = asyncio.create_task(stop())
    for _ in range(turns):
        await asyncio.sleep(0)
    was_closing = is_closing
    task.cancel()
    await asyncio.wait([task])
    await consumer.stop()
    return was_closing and not task.cancelled()


async def lost(bootstrap: str) -> bool:
    """Whether a cancellation is lost in any of the turns."""
    for turns in range(1, TURNS):
        if await goes_on(bootstrap, turns):
            return True
    return False


def test_a_cancellation_is_lost_while_a_client_is_closed() -> None:
    with Kafka() as kafka:
        kafka.create_topic("t")
        assert asyncio.run(lost(kafka.bootstrap_servers))
