"""Whatever belongs to a cluster ends with its life, and who outlives it is told of the next one."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from pykbroker.process.life import Life, LifeEnded, Lifetimes, awaited
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError

CLUSTER = cast("Any", object())


def test_the_result_or_the_error_of_a_wait() -> None:
    async def scenario() -> None:
        life, wait, failing = Life(CLUSTER), Deferred[int](), Deferred[int]()
        waits = asyncio.gather(life.outcome(wait), life.outcome(failing), return_exceptions=True)
        await asyncio.sleep(0)
        wait.complete(7)
        failing.fail(KafkaError(ErrorCode.REBALANCE_IN_PROGRESS))
        value, error = await asyncio.wait_for(waits, 30)
        assert value == 7
        assert isinstance(error, KafkaError)
        assert error.code is ErrorCode.REBALANCE_IN_PROGRESS

    asyncio.run(scenario())


def test_what_waits_for_a_cluster_ends_with_its_life() -> None:
    async def scenario() -> None:
        life, wait, done = Life(CLUSTER), Deferred[int](), Deferred[int]()
        refused, answered = (asyncio.create_task(life.outcome(each)) for each in (wait, done))
        await asyncio.sleep(0)
        done.complete(1)  # in the same turn, but before
        life.end()
        with pytest.raises(LifeEnded, match="stopping or being reset"):
            await asyncio.wait_for(refused, 30)
        assert await asyncio.wait_for(answered, 30) == 1
        wait.complete(2)  # nobody waits any more
        with pytest.raises(LifeEnded):
            await life.outcome(Deferred.completed(3))

    asyncio.run(scenario())


@pytest.mark.parametrize("of_a_life", [True, False])
def test_a_wait_is_abandoned_with_the_task_that_awaits_it(of_a_life: bool) -> None:
    async def scenario() -> None:
        life, wait, stopped = Life(CLUSTER), Deferred[int](), []
        wait.when_abandoned = lambda: stopped.append(True)
        task = asyncio.create_task(life.outcome(wait) if of_a_life else awaited(wait))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert stopped == [True]
        wait.complete(1)
        life.end()

    asyncio.run(scenario())


def test_the_last_that_was_registered_ends_first_and_a_failure_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    life, ended = Life(CLUSTER), list[str]()

    def fail() -> None:
        raise RuntimeError("oh")

    life.at_end(lambda: ended.append("first"))
    life.at_end(fail)
    take_back = life.at_end(lambda: ended.append("never"))
    life.at_end(lambda: ended.append("last"))
    take_back()
    take_back()
    life.end(followed=True)
    assert ended == ["last", "first"]
    assert life.over
    assert life.followed
    assert "Unhandled error at the end of a cluster's life" in caplog.text
    life.end()
    assert ended == ["last", "first"]


def test_followers_are_told_of_each_life_and_of_the_present_one() -> None:
    lifetimes, told, late = Lifetimes(), list[Life](), list[Life]()
    leave = lifetimes.follow(told.append)
    first = lifetimes.begin(CLUSTER)
    lifetimes.follow(late.append)
    lifetimes.end(followed=True)
    assert (lifetimes.current, first.over, first.followed) == (None, True, True)
    second = lifetimes.begin(CLUSTER)
    leave()
    lifetimes.end()
    lifetimes.end()
    third = lifetimes.begin(CLUSTER)
    assert told == [first, second]
    assert late == [first, second, third]
    assert not second.followed
