"""The schema registry, if one is known: schemas by id, subjects, and their versions. What another registry answers is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pykbroker.registry_site import quoted
from pykbroker.steered.refusal import VerbRefused

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console
    from pykbroker.http.console.registry import ConsoleSchemas

_LARGEST_ID: Final = 2**31 - 1
_MOST_ROWS: Final = 200
_NAME: Final = 1000
#: Places where a schema is used that are shown.
_MOST_USES: Final = 200


async def one(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a schema by its id. Raises VerbRefused."""
    return await _registry(console).schema(call.whole("id", most=_LARGEST_ID), console.brokers.principal)


async def subjects(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a page of subjects whose names contain ``match``; ``registry`` says whether one is known."""
    start, limit = call.whole("start", 0), call.whole("limit", 50, least=1, most=_MOST_ROWS)
    match = call.text("match", "", most=_NAME).lower()
    if console.registry is None:
        return {"registry": False, "total": 0, "start": start, "subjects": []}
    found = _list(await console.registry.ask("/subjects", console.brokers.principal), str)
    names = [each for each in found if match in each.lower()]
    return {"registry": True, "total": len(names), "start": start, "subjects": names[start : start + limit]}


async def subject(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return the numbers of a subject's versions, and the compatibility that holds for it. Raises VerbRefused."""
    registry, principal, name = _registry(console), console.brokers.principal, call.text("subject", most=_NAME)
    path = quoted(name)
    versions = _list(await registry.ask(f"/subjects/{path}/versions", principal), int)
    config = _object(await registry.ask(f"/config/{path}", principal, {"defaultToGlobal": "true"}))
    return {"subject": name, "versions": versions, "compatibility": str(config.get("compatibilityLevel"))[:_NAME]}


async def version(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a version of a subject: its schema, which other versions have the same, and the ids of schemas that refer to it."""
    registry, principal, name = _registry(console), console.brokers.principal, call.text("subject", most=_NAME)
    path = f"/subjects/{quoted(name)}/versions/{call.whole('version', least=1, most=_LARGEST_ID)}"
    found = _object(await registry.ask(path, principal))
    number, text, kind = found.get("id"), found.get("schema"), found.get("schemaType", "AVRO")
    if not isinstance(number, int) or not isinstance(text, str) or not isinstance(kind, str):
        raise _no_answer()
    same = _list(await registry.ask(f"/schemas/ids/{number}/versions", principal, {"subject": name}), dict)
    return {
        "version": found.get("version"),
        "id": number,
        "kind": kind[:_NAME],
        "text": text.encode("utf-8", "replace").decode(),
        "references": [_named(each) for each in _list(found.get("references") or [], dict)[:_MOST_USES]],
        "same": [_named(each) for each in same[:_MOST_USES]],
        "referred_by": _list(await registry.ask(f"{path}/referencedby", principal), int)[:_MOST_USES],
    }


def _registry(console: Console) -> ConsoleSchemas:
    if console.registry is None:
        raise VerbRefused(
            404, "no schema registry is known: start the broker with --schema-registry, or --schema-registry URL"
        )
    return console.registry


def _named(found: dict[str, Any]) -> dict[str, Any]:
    """A subject and a version, as a registry names them."""
    name, number = found.get("subject"), found.get("version")
    if not isinstance(name, str) or not isinstance(number, int):
        raise _no_answer()
    return {"subject": name, "version": number}


def _list(found: Any, kind: type) -> list[Any]:
    if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
        raise _no_answer()
    return found


def _object(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise _no_answer()
    return found


def _no_answer() -> VerbRefused:
    return VerbRefused(502, "this is no answer of a schema registry")
