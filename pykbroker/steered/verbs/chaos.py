"""Legal chaos by a seed or a tape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.steered.call import VerbCall
from pykbroker.steered.refusal import VerbRefused, refusing

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering


async def now(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """The chaos as text or null, how much has befallen, and the tape of it."""
    return steering.chaos.as_json()


async def begin(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """Begin the chaos that ``text`` describes, or the lines of a ``tape``, in place of any other. Raises VerbRefused."""
    from pykbroker.faults.chaos import BadChaos, Chaos
    from pykbroker.faults.chaos_tape import BadChaosTape, ChaosTape

    steering.cluster()
    tape = call.body.get("tape")
    if ("text" in call.body) == (tape is not None):
        raise VerbRefused(400, "chaos is said in 'text', or as a 'tape'")
    with refusing(400, BadChaos, BadChaosTape):
        if tape is None:
            chaos = Chaos.parse(call.text("text"))
        elif isinstance(tape, list) and all(isinstance(each, str) for each in tape):
            chaos = Chaos.again(ChaosTape.of_lines(tape))
        else:
            raise VerbRefused(400, "a tape is a list of lines, as they are shown")
        steering.chaos.begin(chaos)
    return steering.chaos.as_json()


async def end(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """End it; what has begun goes on."""
    befell = steering.chaos.as_json()
    steering.chaos.end()
    return befell
