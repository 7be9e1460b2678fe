"""The helpers for coroutines: the loop of the test goes on while they wait."""

from __future__ import annotations

import asyncio

import pytest

from pykbroker.testing import Kafka, TimedOut

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


def test_a_wait_that_holds_the_loop_of_the_test_says_so_when_it_times_out() -> None:
    with Kafka() as kafka:

        async def scenario() -> None:
            with pytest.raises(TimedOut, match=r"own event loop stood still .* kafka\.aio"):
                kafka.wait_for_record("t", timeout=0.05)

        asyncio.run(scenario())
        with pytest.raises(TimedOut) as caught:
            kafka.wait_for_record("t", timeout=0.05)
        assert "loop" not in str(caught.value)


def test_other_loops_are_told_what_to_use() -> None:
    """As trio runs a coroutine: without a loop of asyncio."""
    with Kafka() as kafka, pytest.raises(RuntimeError, match=r"trio\.to_thread\.run_sync\(.*kafka\.topics"):
        kafka.aio.topics().send(None)
