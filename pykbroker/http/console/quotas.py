"""Quotas of users, clients and addresses: list, set and remove."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.errors import raise_for
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.describe_client_quotas import DescribeClientQuotasRequest

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console

_VERSION: Final = 1
_MOST_ROWS: Final = 200
_KINDS: Final = ("user", "client-id", "ip")
_NAME: Final = 1000


async def listed(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a page of quotas, one per row; those whose entity or quota contains ``match``."""
    start, limit = call.whole("start", 0), call.whole("limit", 50, least=1, most=_MOST_ROWS)
    match = call.text("match", "", most=_NAME).lower()
    answer = await console.brokers.ask(DescribeClientQuotasRequest(components=[]), _VERSION)
    raise_for(answer.error_code, answer.error_message)
    turn = console.turn()
    found = []
    for entry in answer.entries or ():
        entity = [{"type": part.entity_type, "name": part.entity_name} for part in entry.entity]
        entity.sort(key=lambda part: _KINDS.index(str(part["type"])))
        about = " ".join(f"{part['type']} {part['name'] or ''}" for part in entity).lower()
        found += [
            {"about": about, "entity": entity, "quota": each.key, "value": each.value}
            for each in entry.values
            if match in about or match in each.key
        ]
        await turn.share()
    found.sort(key=lambda row: (row["about"], row["quota"]))
    rows = [{name: value for name, value in row.items() if name != "about"} for row in found[start : start + limit]]
    return {"total": len(found), "start": start, "quotas": rows}


async def alter(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Set a quota of an entity or, without a ``value``, remove it.

    ``entity`` is as in ``listed``: a part without a name is the default of its type.
    """
    parts = map(call.inner, call.objects("entity", most=len(_KINDS)))
    entity = [EntityData(entity_type=_kind(part), entity_name=part.maybe_text("name")) for part in parts]
    value = call.maybe_text("value")
    change = OpData(key=call.text("quota", most=100), value=_number(value), remove=value is None)
    asked = AlterClientQuotasRequest(
        entries=[AlterClientQuotasRequestEntryData(entity=entity, ops=[change])], validate_only=False
    )
    (result,) = (await console.brokers.ask(asked, _VERSION)).entries
    raise_for(result.error_code, result.error_message)
    return {}


def _kind(part: ConsoleCall) -> str:
    kind = part.text("type", most=20)
    if kind not in _KINDS:
        raise VerbRefused(400, f"'type' of an entity is one of: {', '.join(_KINDS)}")
    return kind


def _number(text: str | None) -> float:
    try:
        value = float(text or "0")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise VerbRefused(400, "'value' has to be a number")
    return value
