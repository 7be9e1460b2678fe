"""How long the HTTP side keeps the loop."""

from __future__ import annotations

import asyncio

from pykbroker.http.turn import TURN_S, Turn
from pykbroker.runtime.clock import ManualClock
from pykbroker.tests.kit.cluster import MemoryCluster


class _Steered(ManualClock):
    """``at`` is what it says, in seconds."""

    at = 0.0

    def monotonic(self) -> float:
        return self.at


def _turns_of_others(parts: int, took_s: float) -> int:
    """How often others had the loop while so many parts were done, each of which took so long."""
    had = 0
    clock = _Steered()

    async def work(turn: Turn) -> None:
        for _ in range(parts):
            clock.at += took_s
            await turn.share()

    async def others() -> None:
        nonlocal had
        while True:
            had += 1
            await asyncio.sleep(0)

    async def both() -> int:
        beside = asyncio.create_task(others())
        await asyncio.sleep(0)
        before = had
        await work(Turn(clock.monotonic, MemoryCluster().cluster))
        beside.cancel()
        return had - before

    return asyncio.run(both())


def test_little_pieces_go_together() -> None:
    assert _turns_of_others(100, TURN_S / 1000) == 0


def test_others_have_their_turn_after_each_that_took_long() -> None:
    assert _turns_of_others(10, TURN_S * 1.01) == 10
    assert _turns_of_others(10, TURN_S * 0.51) == 5
