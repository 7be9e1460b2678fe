"""Schemas by their ids and guids."""

from __future__ import annotations

import re
from typing import Any

from pykbroker.registry.errors import denied, schema_not_found
from pykbroker.registry.rest.call import MOST_SCHEMAS, Call, SchemaText
from pykbroker.registry.rest.shapes import shaped, text_of
from pykbroker.registry.schema import TYPES, Version
from pykbroker.registry.state import RegistryState
from pykbroker.registry.subjects import DEFAULT_CONTEXT, WILDCARD, context_of, normal, split
from pykbroker.registry.turns import in_turns


async def listed(call: Call) -> list[Version]:
    """All versions of all subjects, in the order of their names."""
    state = await call.registry.state()
    prefix, deleted = call.query.get("subjectPrefix", WILDCARD), call.flag("deleted")
    everywhere = prefix.startswith(WILDCARD)
    begin = prefix.removeprefix(WILDCARD)
    found: list[Version] = []
    async for subject in in_turns(state.names()):
        name = split(subject)[1] if everywhere else subject
        if name.startswith(begin) and call.may_read(subject):
            of_subject = state.versions(subject, deleted=deleted)
            found += of_subject[-1:] if call.flag("latestOnly") else of_subject
    if kind := call.query.get("ruleType", ""):
        found = [each async for each in in_turns(found, at_once=1) if each.schema.has_rule(kind)]
    return call.page(found, MOST_SCHEMAS)


async def types(_: Call) -> list[str]:
    """The types of schemas."""
    return list(TYPES)


async def by_id(call: Call) -> dict[str, Any]:
    """A schema by its id."""
    state = await call.registry.state()
    found = (await _with_id(state, call))[0]
    answer = found.as_json()
    for name in ("subject", "version", "id"):
        del answer[name]
    highest = {"maxId": state.highest_id(split(found.subject)[0])} if call.flag("fetchMaxId") else {}
    return {**answer, "schema": await text_of(call, found), **highest}


async def text(call: Call) -> SchemaText:
    """The text of a schema."""
    found = (await _with_id(await call.registry.state(), call))[0]
    return SchemaText(await text_of(call, found))


async def subjects(call: Call) -> list[str]:
    """The subjects that have a schema."""
    found = await _with_id(await call.registry.state(), call)
    return call.page(list(dict.fromkeys(each.subject for each in found if call.flag("deleted") or not each.deleted)))


async def versions(call: Call) -> list[dict[str, Any]]:
    """The versions that have a schema."""
    found = [
        each for each in await _with_id(await call.registry.state(), call) if call.flag("deleted") or not each.deleted
    ]
    return call.page([{"subject": each.subject, "version": each.version} for each in found])


async def by_guid(call: Call) -> dict[str, Any]:
    """A schema by its guid."""
    answer = await shaped(call, await _with_guid(call))
    return {name: value for name, value in answer.items() if name not in ("subject", "version", "id")}


async def ids(call: Call) -> list[dict[str, Any]]:
    """The ids of a schema, by context."""
    state, found = await call.registry.state(), await _with_guid(call)
    numbers = [(each, state.id_of(each, found.schema)) async for each in in_turns(state.contexts())]
    return [{"context": context, "id": number} for context, number in numbers if number is not None]


async def _with_guid(call: Call) -> Version:
    state = await call.registry.state()
    found = state.with_guid(call.path["guid"].lower())
    if found is None:
        raise schema_not_found(call.path["guid"][:100])
    same = (each for each in state.with_id(context_of(found.subject), found.id) if each.guid == found.guid)
    return (await _readable(call, found.guid, [found, *same]))[0]


async def _readable(call: Call, what: object, found: list[Version]) -> list[Version]:
    """The versions that who asks may read; thousands of subjects may share a schema. Raises RegistryError if there are none."""
    allowed = [each async for each in in_turns(found) if call.may_read(each.subject)]
    if not allowed:
        raise denied(f"Schema: {what}")
    return allowed


async def _with_id(state: RegistryState, call: Call) -> list[Version]:
    """The versions with an id: in the context of the query's subject, else in any. Raises RegistryError."""
    said = call.path["id"]
    if not re.fullmatch(r"[0-9]{1,10}", said):
        raise schema_not_found(said[:100])
    subject = normal(call.query.get("subject", ""))
    context, name = split(subject)
    found = state.with_id(context, int(said))
    if name:
        found.sort(key=lambda each: each.subject != subject)
    if not found and name and context == DEFAULT_CONTEXT:
        async for each in in_turns(state.contexts()):
            if found := state.with_id(each, int(said)):
                break
    if not found:
        raise schema_not_found(said)
    return await _readable(call, said, found)
