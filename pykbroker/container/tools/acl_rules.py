"""Parses the options of ``kafka-acls`` into resource patterns and access control entries."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from itertools import product
from typing import Final, NamedTuple

from pykbroker.container.tools.running import ToolError
from pykbroker.security import operations, resources
from pykbroker.security.acl import ALLOW, DENY, PERMISSION_NAMES, name_of
from pykbroker.security.operations import ALL, OPERATION_NAMES, SUPPORTED
from pykbroker.security.resources import LITERAL, PATTERN_NAMES, TYPE_NAMES, WILDCARD

_SUPPORTED: Final = {
    **SUPPORTED,
    resources.TRANSACTIONAL_ID: (operations.DESCRIBE, operations.WRITE, operations.TWO_PHASE_COMMIT),
    resources.DELEGATION_TOKEN: (operations.DESCRIBE,),
    resources.USER: (operations.CREATE_TOKENS, operations.DESCRIBE_TOKENS),
}
#: Operations that a role needs, by type of the resource.
_PRODUCER: Final = {
    resources.TOPIC: (operations.WRITE, operations.DESCRIBE, operations.CREATE),
    resources.TRANSACTIONAL_ID: (operations.WRITE, operations.DESCRIBE),
}
_CONSUMER: Final = {
    resources.TOPIC: (operations.READ, operations.DESCRIBE),
    resources.GROUP: (operations.READ,),
}
_BY_WORD: Final = {name.replace("_", ""): code for code, name in enumerate(OPERATION_NAMES) if code >= ALL}


class ResourcePattern(NamedTuple):
    """A resource pattern."""

    kind: int
    name: str
    type: int

    def __str__(self) -> str:
        kind, pattern = name_of(self.kind, TYPE_NAMES), name_of(self.type, PATTERN_NAMES)
        return f"ResourcePattern(resourceType={kind}, name={self.name}, patternType={pattern})"


class AccessControlEntry(NamedTuple):
    """An access control entry: principal, host, operation and permission."""

    principal: str
    host: str
    operation: int
    permission: int

    def __str__(self) -> str:
        operation, permission = name_of(self.operation, OPERATION_NAMES), name_of(self.permission, PERMISSION_NAMES)
        return f"(principal={self.principal}, host={self.host}, operation={operation}, permissionType={permission})"


Rules = dict[ResourcePattern, list[AccessControlEntry]]

_CLUSTER: Final = ResourcePattern(resources.CLUSTER, resources.CLUSTER_NAME, LITERAL)


def patterns(options: argparse.Namespace) -> list[ResourcePattern]:
    """Return the patterns of the resources that are named."""
    kinds = {
        resources.TOPIC: options.topic,
        resources.GROUP: options.group,
        resources.TRANSACTIONAL_ID: options.transactional_id,
        resources.DELEGATION_TOKEN: options.delegation_token,
        resources.USER: options.user_principal,
    }
    pattern_type = PATTERN_NAMES.index(options.resource_pattern_type)
    named = [ResourcePattern(kind, name.strip(), pattern_type) for kind, names in kinds.items() for name in names]
    if pattern_type == LITERAL and (options.cluster or options.idempotent):
        named.append(_CLUSTER)
    return list(dict.fromkeys(named))


def rules(options: argparse.Namespace) -> Rules:
    """Return the entries of each pattern to add or remove; a pattern without entries means all of its entries.

    Raises ToolError.
    """
    named = patterns(options)
    if not named:
        raise ToolError("You must provide at least one resource: --topic, --cluster, --group, --transactional-id, ...")
    made: Rules = {}
    if options.producer:
        _add(made, options, named, _PRODUCER)
        if options.idempotent:
            made[_CLUSTER] = _entries(options, [operations.IDEMPOTENT_WRITE])
    if options.consumer:
        _add(made, options, named, _CONSUMER)
    if not (options.producer or options.consumer):
        wanted = [_operation(word) for word in options.operation or ["All"]]
        made = {pattern: _entries(options, wanted) for pattern in named}
    _check_operations(made)
    return made


def _add(
    made: Rules, options: argparse.Namespace, named: list[ResourcePattern], role: dict[int, tuple[int, ...]]
) -> None:
    for pattern in named:
        if pattern.kind in role:
            both = [*made.get(pattern, ()), *_entries(options, role[pattern.kind])]
            made[pattern] = list(dict.fromkeys(both))


def _entries(options: argparse.Namespace, wanted: Iterable[int]) -> list[AccessControlEntry]:
    found = [
        AccessControlEntry(_principal(who), host.strip(), operation, permission)
        for permission, principals, hosts in (
            (ALLOW, options.allow_principal, options.allow_host),
            (DENY, options.deny_principal, options.deny_host),
        )
        for who, operation, host in product(principals, wanted, hosts or [WILDCARD])
    ]
    return list(dict.fromkeys(found))


def _operation(word: str) -> int:
    return _BY_WORD.get(word.strip().upper().replace("_", "").replace("-", ""), 0)


def _principal(text: str) -> str:
    kind, colon, name = text.strip().partition(":")
    if not (kind and colon and name):
        raise ToolError(f"expected a string in format principalType:principalName but got {text.strip()}")
    return f"{kind}:{name}"


def _check_operations(made: Rules) -> None:
    for pattern, entries in made.items():
        able = (ALL, *_SUPPORTED[pattern.kind])
        if any(entry.operation not in able for entry in entries):
            known = ", ".join(OPERATION_NAMES[operation] for operation in able)
            raise ToolError(f"ResourceType {TYPE_NAMES[pattern.kind]} only supports operations [{known}]")
