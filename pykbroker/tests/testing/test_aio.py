"""The helpers for coroutines: the loop of the test goes on while they wait."""

from __future__ import annotations

import asyncio

from pykbroker.testing import Kafka

SETTINGS = {"log.retention.ms": 3_600_000, "log.roll.ms": 60_000}


def test_who_waits_does_not_keep_others_from_what_is_waited_for() -> None:
    async def scenario() -> None:
        async with Kafka() as kafka:
            waits = [kafka.aio.wait_for_record("t", timeout=60), kafka.aio.wait_for_records("t", 2, timeout=60)]
            waiting = asyncio.gather(*waits)
            for text in ("one", "two"):
                await kafka.aio.produce("t", text)
            record, records = await waiting
            assert (record.text, [each.text for each in records]) == ("one", ["one", "two"])

    asyncio.run(scenario())


def test_lives_and_time() -> None:
    async def scenario() -> None:
        async with Kafka(SETTINGS, clock="manual") as kafka:
            await kafka.aio.produce("t", "one")
            await kafka.aio.snapshot("one")
            await kafka.aio.reset()
            assert await kafka.aio.topics() == {}
            await kafka.aio.restore("one")
            assert [each.text for each in await kafka.aio.records("t")] == ["one"]
            await kafka.aio.advance("2h")
            await kafka.aio.run_compaction()
            await kafka.aio.run_retention()
            assert await kafka.aio.records("t") == []

    asyncio.run(scenario())
