"""The registry itself, and its contexts."""

from __future__ import annotations

from typing import Any

from pykbroker import __version__
from pykbroker.registry import deciding
from pykbroker.registry.rest.call import Call


async def root(_: Call) -> dict[str, Any]:
    """Nothing, as the real one answers; clients ask whether somebody is there."""
    return {}


async def contexts(call: Call) -> list[str]:
    """The names of the contexts."""
    prefix = call.query.get("contextPrefix", "")
    return call.page([each for each in (await call.registry.state()).contexts() if each.startswith(prefix)])


async def delete_context(call: Call) -> None:
    """Remove a context without subjects."""
    name = call.path["context"].strip(":")
    await call.registry.change_in_steps(lambda state: deciding.delete_context(state, name))


async def cluster(call: Call) -> dict[str, Any]:
    """The id of the registry: its cluster's."""
    scope = {
        "path": [],
        "clusters": {"kafka-cluster": call.registry.cluster_id(), "schema-registry-cluster": "schema-registry"},
    }
    return {"scope": scope}


async def version(_: Call) -> dict[str, Any]:
    """Whose registry this is; the description that it follows is that of version 8."""
    return {"version": f"8.0.0-pykbroker-{__version__}", "commitId": "unknown"}
