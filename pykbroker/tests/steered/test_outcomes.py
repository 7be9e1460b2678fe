"""What HTTP requests wait for ends, whatever becomes of the brokers."""

from __future__ import annotations

import asyncio

import pytest

from pykbroker.runtime.waits import Deferred
from pykbroker.steered.outcomes import Outcomes
from pykbroker.steered.refusal import Refusal
from pykbroker.wire.errors import ErrorCode, KafkaError


def test_the_result_or_the_error_of_a_wait() -> None:
    async def scenario() -> None:
        outcomes, wait, failing = Outcomes(), Deferred[int](), Deferred[int]()
        waits = asyncio.gather(outcomes.of(wait), outcomes.of(failing), return_exceptions=True)
        await asyncio.sleep(0)
        wait.complete(7)
        failing.fail(KafkaError(ErrorCode.REBALANCE_IN_PROGRESS))
        value, error = await asyncio.wait_for(waits, 30)
        assert value == 7
        assert isinstance(error, KafkaError)
        assert error.code is ErrorCode.REBALANCE_IN_PROGRESS

    asyncio.run(scenario())


def test_what_waits_for_a_cluster_that_is_dropped_is_refused() -> None:
    async def scenario() -> None:
        outcomes, wait, done = Outcomes(), Deferred[int](), Deferred[int]()
        refused, answered = (asyncio.create_task(outcomes.of(each)) for each in (wait, done))
        await asyncio.sleep(0)
        done.complete(1)  # in the same turn, but before
        outcomes.drop()
        with pytest.raises(Refusal, match="stopping or being reset") as found:
            await asyncio.wait_for(refused, 30)
        assert found.value.status == 503
        assert await asyncio.wait_for(answered, 30) == 1
        wait.complete(2)  # nobody waits any more

    asyncio.run(scenario())
