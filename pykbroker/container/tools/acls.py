"""``kafka-acls``: add, remove and list access lists."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.container.tools.acl_rules import AccessControlEntry, ResourcePattern, Rules, patterns, rules
from pykbroker.container.tools.printing import print_cells, print_lines
from pykbroker.container.tools.running import Options, ToolError, connect, exactly_one
from pykbroker.security.acl import Acl, AclFilter
from pykbroker.security.resources import PATTERN_NAMES
from pykbroker.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from pykbroker.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from pykbroker.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

_MANY: Final = (
    *("topic", "group", "transactional-id", "delegation-token", "user-principal", "operation", "principal"),
    *("allow-principal", "allow-host", "deny-principal", "deny-host"),
)
_FLAGS: Final = ("add", "remove", "list", "cluster", "idempotent", "producer", "consumer", "force")
#: Options that exclude each other.
_NOT_BOTH: Final = {
    "list": ("producer", "consumer", "allow-host", "allow-principal", "deny-host", "deny-principal"),
    "producer": ("operation", "deny-principal", "deny-host"),
    "consumer": ("operation", "deny-principal", "deny-host"),
}


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    action = exactly_one(options, ("list", "add", "remove"))
    _check(options)
    with connect(options) as client:
        {"list": _list, "add": _add, "remove": _remove}[action](client, options)


def _options() -> Options:
    made = Options("kafka-acls", "Add, remove and list access lists.")
    made.connecting()
    for name in _FLAGS:
        made.add_argument(f"--{name}", action="store_true")
    for name in _MANY:
        made.add_argument(f"--{name}", metavar="NAME", action="append", default=[])
    made.add_argument(
        "--resource-pattern-type", metavar="TYPE", type=str.upper, choices=PATTERN_NAMES[1:], default="LITERAL"
    )
    return made


def _check(options: argparse.Namespace) -> None:
    """Raises ToolError for options that exclude or require each other."""
    given = {name for name in (*_FLAGS, *_MANY) if getattr(options, name.replace("-", "_"))}
    for name in given & _NOT_BOTH.keys():
        if clash := sorted(given.intersection(_NOT_BOTH[name])):
            raise ToolError(f'Option "[{name}]" can\'t be used with option "[{clash[0]}]"')
    if "principal" in given and "list" not in given:
        raise ToolError("The --principal option is only available if --list is set")
    if "idempotent" in given and "producer" not in given:
        raise ToolError("The --idempotent option is only available if --producer is set")
    if "producer" in given and "topic" not in given:
        raise ToolError("With --producer you must specify a --topic")
    if "consumer" in given and not _fits_consumer(given):
        raise ToolError(
            "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id option should "
            "be specified."
        )


def _fits_consumer(given: set[str]) -> bool:
    return given.issuperset(("topic", "group")) and ("producer" in given or not given & {"cluster", "transactional-id"})


def _list(client: Client, options: argparse.Namespace) -> None:
    filters = [AclFilter(*each) for each in patterns(options)] or [AclFilter()]
    found: Rules = {}
    for acl in dict.fromkeys(acl for wanted in filters for acl in _described(client, wanted)):
        found.setdefault(ResourcePattern(*acl[:3]), []).append(AccessControlEntry(*acl[3:]))
    if not options.principal:
        _print(found)
    for principal in options.principal:
        print_lines(f"ACLs for principal `{principal.strip()}`")
        _print(
            {each: [one for one in entries if one.principal == principal.strip()] for each, entries in found.items()}
        )


def _print(found: Rules) -> None:
    for pattern, entries in sorted(found.items()):
        if entries:
            print_lines(f"Current ACLs for resource `{pattern}`:")
            _print_entries(sorted(entries))
            print_lines()


def _print_entries(entries: Sequence[AccessControlEntry], before_first: str = "") -> None:
    """Print entries as Kafka's command does: with a tab before each, and what it has before the first."""
    for number, entry in enumerate(entries):
        print_cells("" if number else before_first, str(entry))


def _described(client: Client, wanted: AclFilter) -> list[Acl]:
    answer = client.any().call(DescribeAclsRequest(*wanted), DescribeAclsResponse)
    raise_for(answer.error_code, answer.error_message)
    return [
        Acl(
            each.resource_type,
            each.resource_name,
            each.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for each in answer.resources
        for acl in each.acls
    ]


def _add(client: Client, options: argparse.Namespace) -> None:
    if options.resource_pattern_type not in ("LITERAL", "PREFIXED"):
        raise ToolError(
            f"A '--resource-pattern-type' value of '{options.resource_pattern_type}' is not valid when adding acls."
        )
    wanted = rules(options)
    if not all(wanted.values()):
        raise ToolError("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    for pattern, entries in wanted.items():
        there = {AccessControlEntry(*acl[3:]) for acl in _described(client, AclFilter(*pattern))}
        for entry in there.intersection(entries):
            print_lines(f"Acl (pattern={pattern}, entry={entry}) already exists.")
        if missing := [entry for entry in entries if entry not in there]:
            print_lines(f"Adding ACLs for resource `{pattern}`: ")
            _print_entries(missing, " ")
            print_lines()
            _create(client, [AclCreation(*_bound(pattern, entry)) for entry in missing])


def _bound(pattern: ResourcePattern, entry: AccessControlEntry) -> Acl:
    where = (pattern.kind, pattern.name, pattern.type)
    return Acl(*where, entry.principal, entry.host, entry.operation, entry.permission)


def _create(client: Client, creations: list[AclCreation]) -> None:
    for result in client.controller().call(CreateAclsRequest(creations=creations), CreateAclsResponse).results:
        raise_for(result.error_code, result.error_message)


def _remove(client: Client, options: argparse.Namespace) -> None:
    for pattern, entries in rules(options).items():
        if options.force or _agreed(pattern, entries):
            _delete(client, [AclFilter(*_bound(pattern, entry)) for entry in entries] or [AclFilter(*pattern)])


def _agreed(pattern: ResourcePattern, entries: Sequence[AccessControlEntry]) -> bool:
    if entries:
        print_lines("Are you sure you want to remove ACLs: ")
        _print_entries(entries, " ")
        print_lines(f" from resource filter `{pattern}`? (y/n)", flush=True)
    else:
        print_lines(f"Are you sure you want to delete all ACLs for resource filter `{pattern}`? (y/n)", flush=True)
    return sys.stdin.readline().strip().lower() == "y"


def _delete(client: Client, filters: list[AclFilter]) -> None:
    request = DeleteAclsRequest(filters=[DeleteAclsFilter(*each) for each in filters])
    for result in client.controller().call(request, DeleteAclsResponse).filter_results:
        raise_for(result.error_code, result.error_message)
