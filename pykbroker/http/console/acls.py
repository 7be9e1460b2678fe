"""Access lists: list, add and remove, by Kafka's names."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.errors import raise_for
from pykbroker.security.acl import ALLOW, DENY, PERMISSION_NAMES, Acl, AclFilter, name_of
from pykbroker.security.operations import ALL, OPERATION_NAMES
from pykbroker.security.resources import LITERAL, PATTERN_NAMES, PREFIXED, TOPIC, TYPE_NAMES
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_acls import AclCreation, CreateAclsRequest
from pykbroker.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pykbroker.wire.messages.describe_acls import DescribeAclsRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console

_VERSION: Final = 3
_MOST_ROWS: Final = 200
_NAME: Final = 249
_PRINCIPAL: Final = 1000


async def listed(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a page of the access lists that contain ``match``; without an authorizer, none and ``off``."""
    start, limit = call.whole("start", 0), call.whole("limit", 50, least=1, most=_MOST_ROWS)
    match = call.text("match", "", most=_PRINCIPAL).lower()
    answer = await console.brokers.ask(DescribeAclsRequest(*AclFilter()), _VERSION)
    if answer.error_code == ErrorCode.SECURITY_DISABLED:
        return {"off": True, "total": 0, "start": 0, "acls": []}
    raise_for(answer.error_code, answer.error_message)
    turn = console.turn()
    found = []
    for resource in answer.resources:
        where = (resource.resource_type, resource.resource_name, resource.pattern_type)
        acls = sorted([
            Acl(*where, each.principal, each.host, each.operation, each.permission_type)
            async for each in turn.each(resource.acls)
        ])  # fmt: skip
        found += [row async for each in turn.each(acls) if _has((row := _as_json(each)).values(), match)]
    found.sort(key=itemgetter("type", "name"))
    return {"off": False, "total": len(found), "start": start, "acls": found[start : start + limit]}


def _has(texts: Iterable[str], match: str) -> bool:
    return any(match in text.lower() for text in texts)


def _as_json(acl: Acl) -> dict[str, str]:
    return {
        "type": name_of(acl.resource_type, TYPE_NAMES),
        "name": acl.resource_name,
        "pattern": name_of(acl.pattern_type, PATTERN_NAMES),
        "principal": acl.principal,
        "host": acl.host,
        "operation": name_of(acl.operation, OPERATION_NAMES),
        "permission": name_of(acl.permission_type, PERMISSION_NAMES),
    }


async def add(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Add an access list, in the form of ``listed``."""
    answer = await console.brokers.ask(CreateAclsRequest([AclCreation(*_said(call))]), _VERSION)
    (result,) = answer.results
    raise_for(result.error_code, result.error_message)
    return {}


async def remove(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Remove an access list, in the form of ``listed``; returns how many were removed."""
    answer = await console.brokers.ask(DeleteAclsRequest([DeleteAclsFilter(*_said(call))]), _VERSION)
    (result,) = answer.filter_results
    raise_for(result.error_code, result.error_message)
    return {"removed": len(result.matching_acls)}


def _said(call: ConsoleCall) -> Acl:
    """Parse an access list. Raises VerbRefused for a filter, or for words that Kafka does not have."""
    return Acl(
        _code(call, "type", TYPE_NAMES, range(TOPIC, len(TYPE_NAMES))),
        call.text("name", most=_NAME),
        _code(call, "pattern", PATTERN_NAMES, (LITERAL, PREFIXED)),
        call.text("principal", most=_PRINCIPAL),
        call.text("host", most=_NAME),
        _code(call, "operation", OPERATION_NAMES, range(ALL, len(OPERATION_NAMES))),
        _code(call, "permission", PERMISSION_NAMES, (DENY, ALLOW)),
    )


def _code(call: ConsoleCall, word: str, names: tuple[str, ...], codes: Iterable[int]) -> int:
    known = {names[code]: code for code in codes}
    text = call.text(word, most=40)
    if text not in known:
        raise VerbRefused(400, f"{word!r} is one of: {', '.join(known)}")
    return known[text]
