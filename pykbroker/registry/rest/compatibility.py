"""Whether a schema could be registered."""

from __future__ import annotations

from typing import Any

from pykbroker.registry.errors import subject_not_found, version_not_found
from pykbroker.registry.rest.call import Call
from pykbroker.registry.schema import Version
from pykbroker.registry.subjects import LATEST, version_number


async def with_version(call: Call) -> dict[str, Any]:
    """With one version. ``latest`` of a subject without versions is compatible with everything."""
    state, number = await call.registry.state(), version_number(call.path["version"])
    found = state.version(call.subject, number)
    if found is None and number != LATEST:
        raise version_not_found(number) if state.has(call.subject) else subject_not_found(call.subject)
    return await _checked(call, [] if found is None else [found])


async def with_all(call: Call) -> dict[str, Any]:
    """With the versions that the mode of the subject is about."""
    state = await call.registry.state()
    return await _checked(call, state.versions(call.subject))


async def _checked(call: Call, versions: list[Version]) -> dict[str, Any]:
    why = await call.registry.check(call.subject, await call.schema(), versions, normalize=call.flag("normalize"))
    return {"is_compatible": not why, **({"messages": why} if call.flag("verbose") else {})}
