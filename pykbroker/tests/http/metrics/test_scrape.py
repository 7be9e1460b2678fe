"""A scrape of much is many turns of the loop, and one for all who ask meanwhile."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from pykbroker.brokers.cluster import Cluster
from pykbroker.http.metrics.metric import gauge
from pykbroker.http.metrics.page import Page, Steps
from pykbroker.http.metrics.partitions import PartitionCollector
from pykbroker.http.metrics.scrape import Collector, NoCluster, Scrapes
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.waits import Deferred
from pykbroker.testing import Kafka
from pykbroker.tests.http.http_client import parsed
from pykbroker.tests.kit.cluster import MemoryCluster

_NUMBER = gauge("number", "A number.", moves="It moved.")


class _Ticking(ManualClock):
    """A tenth of a millisecond passes with every look."""

    def monotonic(self) -> float:
        self.looks = getattr(self, "looks", 0) + 1
        return self.looks / 10_000


class _Waiting:
    """A collector that waits for something."""

    def __init__(self) -> None:
        self.wait: Deferred[int] = Deferred()
        self.begun = 0

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        self.begun += 1
        yield self.wait
        page.add(_NUMBER, self.wait.value if self.wait.done else -1)


def test_many_partitions_are_many_turns() -> None:
    with Kafka() as kafka:
        kafka.create_topic("wide", 400)

        async def scraped() -> tuple[list[bytes], int]:
            turns = 0
            over = False

            def count() -> None:
                nonlocal turns
                turns += 1
                if not over:
                    asyncio.get_running_loop().call_soon(count)

            scrapes = Scrapes(lambda: kafka.node.cluster, [PartitionCollector()], _Ticking())
            count()
            page = await scrapes.page()
            over = True
            return page, turns

        page, turns = kafka._embedded.begin(scraped()).result()
    # 400 partitions, 8 in a step, and 5 looks at the clock in a turn.
    assert turns > 400 / 8 / 5
    found = parsed(b"".join(page).decode())
    assert len(found["kafka_topic_partition_current_offset"]) == 400


def test_who_asks_meanwhile_is_given_the_same() -> None:
    async def scenario() -> None:
        cluster = MemoryCluster().cluster
        waiting = _Waiting()
        scrapes = Scrapes(lambda: cluster, cast("list[Collector]", [waiting]), ManualClock())
        first, second = asyncio.create_task(scrapes.page()), asyncio.create_task(scrapes.page())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()  # who went away takes nothing from the other
        waiting.wait.complete(7)
        assert b"number 7\n" in b"".join(await second)
        assert waiting.begun == 1
        assert b"number 7\n" in b"".join(await scrapes.page())
        assert waiting.begun == 2

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_a_wait_that_fails_ends_no_scrape() -> None:
    async def scenario() -> None:
        cluster = MemoryCluster().cluster
        failed = Scrapes(lambda: cluster, cast("list[Collector]", [_Failing()]), ManualClock())
        assert b"number 3\n" in b"".join(await failed.page())

    asyncio.run(asyncio.wait_for(scenario(), 30))


class _Failing:
    def collect(self, cluster: Cluster, page: Page) -> Steps:
        yield Deferred.failed(OSError("gone"))
        page.add(_NUMBER, 3)


def test_nothing_to_look_at() -> None:
    async def scenario() -> None:
        with pytest.raises(NoCluster):
            await Scrapes(lambda: None, [], ManualClock()).page()

    asyncio.run(scenario())
