"""Reset and snapshots, between the cases of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pykbroker.http.api.route import Call
from pykbroker.process.log_directories import StartFailed
from pykbroker.steered.refusal import Refusal, refusing

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering

_LONGEST_NAME: Final = 200


async def reset(steering: Steering, call: Call) -> dict[str, Any]:
    with refusing(409, RuntimeError, StartFailed):
        await steering.snapshots.reset()
    return {}


async def listed(steering: Steering, call: Call) -> dict[str, Any]:
    return {"snapshots": steering.snapshots.names}


async def keep(steering: Steering, call: Call) -> dict[str, Any]:
    name = call.path["name"]
    if not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
        raise Refusal(400, f"a snapshot's name has 1 to {_LONGEST_NAME} printable characters")
    steering.cluster()
    with refusing(409, OSError):
        await steering.snapshots.take(name)
    return await listed(steering, call)


async def restore(steering: Steering, call: Call) -> dict[str, Any]:
    with refusing(409, RuntimeError, StartFailed, OSError), refusing(404, LookupError):
        await steering.snapshots.restore(call.path["name"])
    return {}
