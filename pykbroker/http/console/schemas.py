"""Schemas by id, if a schema registry is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pykbroker.steered.refusal import VerbRefused

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console

_LARGEST_ID: Final = 2**31 - 1


async def one(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a schema by its id. Raises VerbRefused."""
    if console.registry is None:
        raise VerbRefused(404, "no schema registry is known: start the broker with --schema-registry URL")
    return await console.registry.schema(call.whole("id", most=_LARGEST_ID), console.brokers.principal)
