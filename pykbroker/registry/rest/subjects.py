"""Subjects and their versions."""

from __future__ import annotations

from typing import Any

from pykbroker.registry import deciding
from pykbroker.registry.deciding import Registration
from pykbroker.registry.errors import schema_not_found, subject_not_found, version_not_found
from pykbroker.registry.records import SchemaKey
from pykbroker.registry.rest.call import Call, SchemaText
from pykbroker.registry.rest.shapes import shaped
from pykbroker.registry.schema import Version
from pykbroker.registry.state import RegistryState
from pykbroker.registry.subjects import DEFAULT_CONTEXT, WILDCARD, context_of, normal, qualified, split, version_number
from pykbroker.registry.turns import in_turns


async def listed(call: Call) -> list[str]:
    """The names of subjects, those of all contexts without a prefix."""
    state = await call.registry.state()
    deleted, only = call.flag("deleted"), call.flag("deletedOnly")
    prefix = call.query.get("subjectPrefix", WILDCARD)
    found: list[str] = []
    async for subject in in_turns(state.names()):
        if _begins(subject, prefix) and call.may_read(subject):
            gone = not state.has(subject)
            if gone if only else deleted or not gone:
                found.append(subject)
    return call.page(found)


def _begins(subject: str, prefix: str) -> bool:
    if prefix.startswith(WILDCARD):
        return split(subject)[1].startswith(prefix.removeprefix(WILDCARD))
    context, name = split(prefix)
    return context_of(subject) == context and split(subject)[1].startswith(name)


async def look_up(call: Call) -> dict[str, Any]:
    """The version of a subject with the schema of the body."""
    schema, deleted = await call.schema(), call.flag("deleted")
    for subject in _in_contexts(await call.registry.state(), call.subject):
        if not (await call.registry.state()).has(subject, deleted=deleted):
            continue
        found = await call.registry.look_up(subject, schema, normalize=call.flag("normalize"), deleted=deleted)
        if found is not None:
            return await shaped(call, found)
    if not (await call.registry.state()).has(call.subject, deleted=deleted):
        raise subject_not_found(call.subject)
    raise schema_not_found()


async def delete(call: Call) -> list[int]:
    """Delete a subject; the numbers of its versions."""
    subject, permanent = call.subject, call.flag("permanent")
    return await call.registry.change(lambda state: deciding.delete_subject(state, subject, permanent=permanent))


async def versions(call: Call) -> list[int]:
    """The numbers of a subject's versions."""
    state = await call.registry.state()
    deleted, only = call.flag("deleted"), call.flag("deletedOnly")
    subject = _aliased(state, call)
    if not state.has(subject, deleted=deleted or only):
        raise subject_not_found(call.subject)
    found = state.versions(subject, deleted=deleted or only)
    return call.page([each.version for each in found if each.deleted or not only])


async def version(call: Call) -> dict[str, Any]:
    """One version of a subject."""
    found = _found(await call.registry.state(), call)
    return await shaped(call, found)


async def version_text(call: Call) -> SchemaText:
    """The text of its schema."""
    return SchemaText(_found(await call.registry.state(), call).schema.text)


async def referenced_by(call: Call) -> list[int]:
    """The ids of the schemas that refer to a version."""
    state = await call.registry.state()
    found = _found(state, call, deleted=True)
    return call.page(state.referrers(SchemaKey(found.subject, found.version)))


async def with_metadata(call: Call) -> dict[str, Any]:
    """The newest version whose metadata has these properties."""
    state = await call.registry.state()
    wanted = dict(zip(call.query.get("key", "").split(","), call.query.get("value", "").split(","), strict=False))
    if not state.has(call.subject, deleted=call.flag("deleted")):
        raise subject_not_found(call.subject)
    async for each in in_turns(state.versions(call.subject, deleted=call.flag("deleted"))[::-1], at_once=1):
        if wanted.items() <= each.schema.properties().items():
            return await shaped(call, each)
    raise schema_not_found()


async def register(call: Call) -> dict[str, Any]:
    """Register a schema."""
    registration = Registration(call.new_subject, await call.schema(), call.number("id", -1), call.number("version", 0))
    found = await call.registry.register(registration, normalize=call.flag("normalize"))
    answer = await shaped(call, found)
    del answer["subject"]
    return answer


async def delete_version(call: Call) -> int:
    """Delete a version; its number."""
    subject, permanent = call.subject, call.flag("permanent")
    number = version_number(call.path["version"])
    return await call.registry.change(
        lambda state: deciding.delete_version(state, subject, number, permanent=permanent)
    )


def _found(state: RegistryState, call: Call, *, deleted: bool | None = None) -> Version:
    number = version_number(call.path["version"])
    deleted = call.flag("deleted") if deleted is None else deleted
    subject = _aliased(state, call)
    for each in _in_contexts(state, subject):
        found = state.version(each, number, deleted=deleted)
        if found is not None:
            return found
    if not state.has(subject, deleted=deleted):
        raise subject_not_found(call.subject)
    raise version_not_found(number)


def _aliased(state: RegistryState, call: Call) -> str:
    """The subject that another name is for, by its configuration. Raises RegistryError."""
    alias = (state.config(call.subject) or {}).get("alias")
    if not isinstance(alias, str) or not alias:
        return call.subject
    call.check_may_read(alias)
    return normal(alias)


def _in_contexts(state: RegistryState, subject: str) -> list[str]:
    """The subject, and for an unqualified name, that of each other context."""
    if context_of(subject) != DEFAULT_CONTEXT:
        return [subject]
    return [qualified(each, subject) for each in state.contexts()]
