"""``pykbroker acls``: which principals may do what, from which hosts, to which resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import typer

from pykbroker.cli import acl_words
from pykbroker.cli.completion import group_names, operation_names, topic_names, transactional_ids
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output, counted
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, UsageError, raise_for, refusal
from pykbroker.security.acl import ALLOW, DENY, PERMISSION_NAMES, Acl, AclFilter, name_of
from pykbroker.security.operations import OPERATION_NAMES
from pykbroker.security.resources import ANY, LITERAL, MATCH, PATTERN_NAMES, PREFIXED, TYPE_NAMES, WILDCARD
from pykbroker.wire.errors import KafkaError, error_code
from pykbroker.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from pykbroker.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from pykbroker.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

app = typer.Typer(help="List, add and remove access lists (ACLs).", no_args_is_help=True)

_TABLE = {
    "resource": "RESOURCE",
    "pattern": "PATTERN",
    "principal": "PRINCIPAL",
    "host": "HOST",
    "operation": "OPERATION",
    "permission": "PERMISSION",
}
Topic = Annotated[
    list[str] | None,
    typer.Option("--topic", autocompletion=topic_names, help="This topic; '*' for all. May be repeated."),
]
Group = Annotated[
    list[str] | None, typer.Option("--group", autocompletion=group_names, help="This group; '*' for all.")
]
TransactionalId = Annotated[
    list[str] | None,
    typer.Option("--transactional-id", autocompletion=transactional_ids, help="This transactional id; '*' for all."),
]
Cluster = Annotated[bool, typer.Option("--cluster", help="The cluster itself.")]
User = Annotated[list[str] | None, typer.Option("--token-owner", help="Delegation tokens owned by this principal.")]
Prefixed = Annotated[bool, typer.Option("--prefixed", help="Match every name that begins with the given one.")]
Principal = Annotated[
    list[str] | None, typer.Option("--principal", "-p", help="User:alice, or alice; '*' for everybody.")
]
Host = Annotated[list[str] | None, typer.Option("--host", help="Client address; without it, any.")]
Operation = Annotated[
    list[str] | None,
    typer.Option(
        "--operation",
        "-o",
        autocompletion=operation_names,
        help="read, write, describe-configs, all, ... May be repeated.",
    ),
]
Deny = Annotated[bool, typer.Option("--deny", help="Deny instead of allow; deny wins over allow.")]


@dataclass(frozen=True)
class ResourceOptions:
    """The resources of access lists."""

    topic: Topic = None
    group: Group = None
    transactional_id: TransactionalId = None
    cluster: Cluster = False
    token_owner: User = None
    prefixed: Prefixed = False

    def named(self) -> list[tuple[int, str]]:
        """Return types and names of the resources."""
        return acl_words.named(self.topic, self.group, self.transactional_id, self.token_owner, cluster=self.cluster)


@dataclass(frozen=True)
class AllowOptions:
    """What is allowed or denied, from where."""

    host: Host = None
    operation: Operation = None
    producer: Annotated[bool, typer.Option("--producer", help="What a producer needs on the topics and ids.")] = False
    consumer: Annotated[bool, typer.Option("--consumer", help="What a consumer needs on the topics and groups.")] = (
        False
    )
    deny: Deny = False

    def acls(self, named: list[tuple[int, str]], pattern: int, principals: list[str]) -> list[Acl]:
        """Return the access lists of these resources and principals."""
        return [
            Acl(kind, name, pattern, acl_words.principal(who), where, what, DENY if self.deny else ALLOW)
            for kind, name in named
            for who, where in product(principals, self.host or [WILDCARD])
            for what in acl_words.operations_for(kind, self.operation, producer=self.producer, consumer=self.consumer)
        ]


@app.command("list")
@with_option_values
def list_acls(
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    resources: ResourceOptions,
    principal: Principal = None,
    operation: Operation = None,
    exactly: Annotated[
        bool, typer.Option("--exactly", help="Only lists with this exact name, not prefixes or '*' that match it.")
    ] = False,
) -> None:
    """List access lists: all, or those that apply to the resources and principals named."""
    named = resources.named()
    pattern = PREFIXED if resources.prefixed else LITERAL if exactly else MATCH
    found: dict[Acl, None] = {}
    with at.connect() as client:
        for wanted in acl_words.filters(named, pattern, principal, operation, permission=ANY):
            found.update(dict.fromkeys(_describe(client, wanted)))
    _show(Output(as_json=as_json), found, "There are no such access lists.")


@app.command("add")
@with_option_values
def add_acls(
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    resources: ResourceOptions,
    principal: Principal = None,
    allow: AllowOptions,
) -> None:
    """Allow or deny principals operations."""
    named = resources.named()
    if not named or not principal:
        raise UsageError("Say to whom and of what: --principal, and --topic, --group, --transactional-id or --cluster.")
    if resources.prefixed and any(name == WILDCARD for _, name in named):
        raise UsageError("'*' with --prefixed means names that begin with a star: leave --prefixed out for all names.")
    acls = allow.acls(named, PREFIXED if resources.prefixed else LITERAL, principal)
    if not acls:
        raise UsageError("Say what may be done: --operation, or --producer or --consumer for what these need.")
    with at.connect() as client:
        answer = client.controller().call(
            CreateAclsRequest(creations=[_creation(acl) for acl in acls]), CreateAclsResponse
        )
    refused = [
        refusal(f"Access list {_title(acl)}", KafkaError(error_code(result.error_code), result.error_message or None))
        for acl, result in zip(acls, answer.results, strict=True)
        if result.error_code
    ]
    if refused:
        raise ClientError("\n".join(dict.fromkeys(refused)))
    _show(Output(as_json=as_json), acls, "")


@app.command("remove")
@with_option_values
def remove_acls(
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    resources: ResourceOptions,
    principal: Principal = None,
    operation: Operation = None,
    deny: Deny = False,
    everything: Annotated[bool, typer.Option("--all", help="Every access list.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
) -> None:
    """Remove the access lists whose resource has exactly this name."""
    named = resources.named()
    if not (named or principal or everything):
        raise UsageError("Say which: --topic, --group, --transactional-id, --cluster or --principal, or --all.")
    pattern = PREFIXED if resources.prefixed else LITERAL if named else ANY
    filters = list(acl_words.filters(named, pattern, principal, operation, permission=DENY if deny else ANY))
    gone: dict[Acl, None] = {}
    with at.connect() as client:
        if dry_run:
            for wanted in filters:
                gone.update(dict.fromkeys(_describe(client, wanted)))
        else:
            gone.update(dict.fromkeys(_delete(client, filters)))
    out = Output(as_json=as_json)
    _show(out, gone, "There are no such access lists.")
    if gone and not as_json:
        out.remark(f"{'Would remove' if dry_run else 'Removed'} {counted(len(gone), 'access list')}.")


def _describe(client: Client, wanted: AclFilter) -> Iterator[Acl]:
    answer = client.any().call(DescribeAclsRequest(*wanted), DescribeAclsResponse)
    try:
        raise_for(answer.error_code, answer.error_message)
    except KafkaError as error:
        raise ClientError(refusal("Access lists", error)) from error
    for resource in answer.resources:
        for acl in resource.acls:
            kind = (resource.resource_type, resource.resource_name, resource.pattern_type)
            yield Acl(*kind, acl.principal, acl.host, acl.operation, acl.permission_type)


def _delete(client: Client, filters: Sequence[AclFilter]) -> Iterator[Acl]:
    request = DeleteAclsRequest(filters=[DeleteAclsFilter(*each) for each in filters])
    for result in client.controller().call(request, DeleteAclsResponse).filter_results:
        try:
            raise_for(result.error_code, result.error_message)
        except KafkaError as error:
            raise ClientError(refusal("Access lists", error)) from error
        for gone in result.matching_acls:
            yield Acl(*(getattr(gone, name) for name in Acl._fields))


def _creation(acl: Acl) -> AclCreation:
    return AclCreation(*acl)


def _row(acl: Acl) -> dict[str, Any]:
    return {
        "resource": f"{name_of(acl.resource_type, TYPE_NAMES).lower().replace('_', '-')} {acl.resource_name}",
        "pattern": name_of(acl.pattern_type, PATTERN_NAMES).lower(),
        "principal": acl.principal,
        "host": acl.host,
        "operation": name_of(acl.operation, OPERATION_NAMES).lower().replace("_", "-"),
        "permission": name_of(acl.permission_type, PERMISSION_NAMES).lower(),
    }


def _title(acl: Acl) -> str:
    return " ".join(_row(acl).values())


def _show(out: Output, acls: Iterable[Acl], none: str) -> None:
    rows = [_row(acl) for acl in sorted(acls)]
    if out.as_json:
        out.json(rows)
    elif rows:
        out.table(_TABLE, rows)
    elif none:
        out.remark(none)
