"""The gauge of the longest turn, alone and in a running broker."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.turns import Turns
from pykbroker.tests.kit.running import running_broker, until
from pykbroker.wire.messages.api_versions import ApiVersionsRequest

_LONG_MS = 250


def test_a_turn_lasts_from_what_enters_first_to_the_loops_next_look() -> None:
    clock, calls = ManualClock(), []
    turns = Turns(clock)
    turns.began()
    assert not calls  # nobody measures yet
    turns.measure(calls.append)
    for lasts in ([10, 20], [5], [1, 1, 1]):
        for ms in lasts:
            turns.began()
            clock.advance(ms)
        calls.pop()()
    assert not calls
    assert turns.count == 3
    assert turns.restart() == pytest.approx(0.03)
    assert turns.longest_s == 0.0


@pytest.mark.parametrize("entrance", ["timer", "woken", "thread", "frame"])
def test_every_entrance_of_a_running_broker_is_measured(tmp_path: Path, monkeypatch, entrance: str) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with running_broker(tmp_path, clock=clock) as broker:
            cluster = broker.cluster

            def long_work(*_) -> None:
                clock.advance(_LONG_MS)

            client = await broker.connect()
            cluster.runtime.turns.measure()
            if entrance == "timer":
                cluster.runtime.timers.after(0, long_work)
            elif entrance == "woken":
                cluster.runtime.wake_queue.add(long_work)
            elif entrance == "thread":
                cluster.runtime.offload(int).when_done(long_work)
            else:
                monkeypatch.setattr("pykbroker.requests.dispatcher.Dispatcher.answer", long_work)
                client.close()
                client = await broker.connect()
                client.send(ApiVersionsRequest(), 3)
            await until(lambda: cluster.runtime.turns.longest_s > 0)
            assert cluster.runtime.turns.restart() == _LONG_MS / 1000
            client.close()

    asyncio.run(asyncio.wait_for(scenario(), 30))
