"""Reset and snapshots, between the cases of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pykbroker.process.log_directories import StartFailed
from pykbroker.steered.call import VerbCall
from pykbroker.steered.refusal import VerbRefused, refusing

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering

_LONGEST_NAME: Final = 200


def _check_may_forget(steering: Steering) -> None:
    """Raises VerbRefused for permanent data, in the words of who started the broker."""
    if steering.snapshots.permanent:
        how = "leave data_dir out" if steering.of_a_test else "start it by serve --ephemeral"
        raise VerbRefused(409, f"this would remove all data, and this broker keeps its data: {how}")


async def reset(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """Return to the state at the start. Raises VerbRefused."""
    _check_may_forget(steering)
    with refusing(409, RuntimeError, StartFailed):
        await steering.snapshots.reset()
    return {}


async def listed(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """The names of the snapshots."""
    return {"snapshots": steering.snapshots.names}


async def keep(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """Take the snapshot ``name``. Raises VerbRefused."""
    name = call.name("name")
    if not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
        raise VerbRefused(400, f"a snapshot's name has 1 to {_LONGEST_NAME} printable characters")
    steering.cluster()
    with refusing(409, OSError):
        await steering.snapshots.take(name)
    return await listed(steering, call)


async def restore(steering: Steering, call: VerbCall) -> dict[str, Any]:
    """Return to the snapshot ``name``. Raises VerbRefused."""
    _check_may_forget(steering)
    with refusing(409, RuntimeError, StartFailed, OSError), refusing(404, LookupError):
        await steering.snapshots.restore(call.name("name"))
    return {}
