"""The brokers' manual clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.faults.durations import milliseconds
from pykbroker.process.life import LifeEnded
from pykbroker.steered.call import VerbCall
from pykbroker.steered.refusal import VerbRefused, refusing

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering


async def now(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """The kind of the clock, and its time. Raises VerbRefused."""
    kind = "real" if steering.time is None else "manual"
    return {"kind": kind, "now_ms": steering.cluster().runtime.clock.now_ms()}


async def advance(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """Move a manual clock ``by`` a duration. Raises VerbRefused."""
    steering.cluster()
    if steering.time is None:
        how = 'Kafka(clock="manual")' if steering.of_a_test else "serve --clock manual"
        raise VerbRefused(409, f"time passes by itself here; start the broker by {how} to move it")
    with refusing(400, ValueError):
        ms = milliseconds(call.text("by"))
    with refusing(503, LifeEnded):
        await steering.time.advance(ms)
    return await now(steering, call)
