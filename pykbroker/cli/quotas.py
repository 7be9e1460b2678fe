"""``pykbroker quotas``: limits on the rates of users, client ids and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from pykbroker.cli.completion import user_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json, name_and_value
from pykbroker.cli.output import Output
from pykbroker.cli.topics import report
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, UsageError, refusal
from pykbroker.client.quota_state import DEFAULT, EXACT, alter_quotas, described_quotas
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_client_quotas import OpData
from pykbroker.wire.messages.describe_client_quotas import ComponentData

app = typer.Typer(help="List, set and remove quotas of users, clients and addresses.", no_args_is_help=True)

_DEFAULT_NAME = "<default>"

User = Annotated[str | None, typer.Option("--user", autocompletion=user_names, help="This user.")]
ClientId = Annotated[str | None, typer.Option("--client-id", help="This client id.")]
Ip = Annotated[str | None, typer.Option("--ip", help="This address.")]
DefaultUser = Annotated[bool, typer.Option("--default-user", help="The default of users.")]
DefaultClientId = Annotated[bool, typer.Option("--default-client-id", help="The default of client ids.")]
DefaultIp = Annotated[bool, typer.Option("--default-ip", help="The default of addresses.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only have the broker validate the request.")]
Entity = dict[str, str | None]
"""Names by type (user, client-id, ip); None is the default of that type."""


@dataclass(frozen=True)
class EntityOptions:
    """Whose quotas."""

    user: User = None
    client_id: ClientId = None
    ip: Ip = None
    default_user: DefaultUser = False
    default_client_id: DefaultClientId = False
    default_ip: DefaultIp = False

    def entity(self) -> Entity:
        """Return the entity. Raises UsageError for a name and the default of one type."""
        asked = (
            ("user", self.user, self.default_user),
            ("client-id", self.client_id, self.default_client_id),
            ("ip", self.ip, self.default_ip),
        )
        for kind, name, default in asked:
            if name is not None and default:
                raise UsageError(f"Give --{kind} or --default-{kind}, not both.")
        return {kind: name for kind, name, default in asked if default or name is not None}


@app.command("list")
@with_option_values
def list_quotas(
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    whose: EntityOptions,
) -> None:
    """List quotas: all, or those that apply to the users, client ids or addresses named."""
    out = Output(as_json=as_json)
    entity = whose.entity()
    components = [
        ComponentData(entity_type=kind, match_type=DEFAULT if name is None else EXACT, match=name)
        for kind, name in entity.items()
    ]
    with at.connect() as client:
        try:
            found = described_quotas(client, components)
        except KafkaError as error:
            raise ClientError(refusal("Quotas", error)) from error
    rows: list[dict[str, Any]] = []
    for entry in found:
        names: Entity = {part.entity_type: part.entity_name for part in entry.entity}
        rows += [
            {"entity": names, "quota": value.key, "value": value.value}
            for value in sorted(entry.values, key=lambda value: value.key)
        ]
    rows.sort(key=lambda row: (_title(row["entity"]), row["quota"]))
    if as_json:
        out.json(rows)
    elif rows:
        shown = [row | {"entity": _title(row["entity"]), "value": f"{row['value']:.15g}"} for row in rows]
        out.table({"entity": "ENTITY", "quota": "QUOTA", "value": "VALUE"}, shown)
    else:
        out.remark("There are no such quotas." if entity else "There are no quotas.")


@app.command("set")
@with_option_values
def set_quotas(
    quotas: Annotated[list[str], typer.Argument(metavar="QUOTA=VALUE", help="As producer_byte_rate=1048576.")],
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    whose: EntityOptions,
    dry_run: DryRun = False,
) -> None:
    """Set quotas: producer_byte_rate, consumer_byte_rate, request_percentage, connection_creation_rate, ..."""
    entity = whose.entity()
    changes = []
    for name, text in map(name_and_value, quotas):
        try:
            changes.append(OpData(key=name, value=float(text), remove=False))
        except ValueError:
            raise UsageError(f"{text!r} is not a number, as {name} needs one.") from None
    with at.connect() as client:
        _alter(client, Output(as_json=as_json), entity, changes, "has new quotas", dry_run=dry_run)


@app.command("remove")
@with_option_values
def remove_quotas(
    quotas: Annotated[list[str], typer.Argument(metavar="QUOTA", help="As producer_byte_rate.")],
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    whose: EntityOptions,
    dry_run: DryRun = False,
) -> None:
    """Remove quotas."""
    entity = whose.entity()
    changes = [OpData(key=name, value=0.0, remove=True) for name in quotas]
    with at.connect() as client:
        done = f"has no {', '.join(quotas)}"
        _alter(client, Output(as_json=as_json), entity, changes, done, dry_run=dry_run)


def _alter(client: Client, out: Output, entity: Entity, changes: list[OpData], done: str, *, dry_run: bool) -> None:
    if not entity:
        raise UsageError("Name whose quotas: --user, --client-id, --ip, or the --default-... of them.")
    results = [
        (
            _title({part.entity_type: part.entity_name for part in answer.entity}),
            answer.error_code,
            answer.error_message,
            f"would be changed: {done}" if dry_run else done,
        )
        for answer in alter_quotas(client, entity, changes, dry_run=dry_run)
    ]
    report(out, results, {ErrorCode.NONE}, what="Quotas of")


def _title(entity: Entity) -> str:
    return ", ".join(f"{kind} {_DEFAULT_NAME if name is None else name}" for kind, name in sorted(entity.items()))
