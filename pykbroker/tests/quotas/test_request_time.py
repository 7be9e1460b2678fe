"""What a request costs outside its handler counts against request_percentage, too."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pykbroker.quotas.limits import QuotaLimits
from pykbroker.quotas.mutations import milliseconds
from pykbroker.quotas.request_time import ConnectionTime
from pykbroker.quotas.usage import RateUsage
from pykbroker.requests.pipeline import Place, through
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.rates import Windows
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.running import running_broker
from pykbroker.tests.quotas.test_throttling import limit
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

#: Seconds that a part of a request is made to take: of a quota of 1 %, three requests use up what the windows allow.
SLOW_S = 0.05
KEY = "request_percentage"


def slowed(function: Callable[..., Any]) -> Callable[..., Any]:
    def slow(*args: Any, **options: Any) -> Any:
        ends = time.monotonic() + SLOW_S
        while time.monotonic() < ends:
            pass
        return function(*args, **options)

    return slow


@pytest.mark.parametrize("part", ["decode", "encode"])
@pytest.mark.parametrize("waits", [False, True])
def test_decoding_and_encoding_count(part: str, waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a response that waits as well."""
    message = DescribeClusterRequest if part == "decode" else DescribeClusterResponse
    monkeypatch.setattr(message, part, slowed(getattr(message, part)))

    def next_turn(_broker: Any, _ctx: Any, _request: Any, proceed: Callable[[], Any]) -> Any:
        turn: Deferred[None] = Deferred()
        asyncio.get_running_loop().call_soon(turn.complete, None)
        return turn.map(lambda _: proceed())

    async def scenario() -> list[int]:
        async with running_broker(tmp_path) as broker:
            await limit(broker, "request_percentage", 1)
            if waits:
                broker.server.dispatcher.places.fill(Place.INTERCEPT, through(next_turn))
            throttled = []
            for _ in range(4):
                answer = await broker.ask(DescribeClusterRequest(), 1, DescribeClusterResponse)
                throttled.append(answer.throttle_time_ms)
            return throttled

    *_, last = asyncio.run(scenario())  # on a machine that is slow the first is throttled as well
    assert last > 0


class Measured:
    """A connection's time against a quota of 10 %, on a clock that stands still."""

    def __init__(self) -> None:
        self.clock = ManualClock(1_000_000)
        self.usage = RateUsage(QuotaLimits({(("client-id", "c"),): {KEY: 10.0}}, KEY), Windows(11, 1000))
        limit = self.usage.limits.of("", "c")
        assert limit is not None
        self.time = ConnectionTime(self.usage, self.clock, limit)

    def recorded(self) -> float:
        """Seconds recorded."""
        return sum(rate.measure(milliseconds(self.clock))[0] for _, rate in self.usage.holders()) / 100


def test_a_turn_counts_without_what_handlers_took() -> None:
    made = Measured()
    began = made.clock.monotonic()
    made.clock.advance(30)
    made.time.handled(0.02)
    made.time.turn_over(began)
    assert made.recorded() == pytest.approx(0.01)
    made.time.turn_over(made.clock.monotonic())
    assert made.recorded() == pytest.approx(0.01)


def test_a_response_that_waited_counts_from_when_it_is_complete() -> None:
    made = Measured()
    made.time.written()  # of a request before the quota
    made.time.resumed()
    made.clock.advance(5)
    made.time.resumed()  # a second one, written with it
    made.clock.advance(5)
    made.time.written()
    made.clock.advance(5)
    made.time.written()
    assert made.recorded() == pytest.approx(0.01)


def test_nothing_counts_once_the_quotas_are_removed() -> None:
    made = Measured()
    made.usage.limits = QuotaLimits({}, KEY)
    made.clock.advance(30)
    made.time.turn_over(made.clock.monotonic() - 0.03)
    assert made.recorded() == 0
