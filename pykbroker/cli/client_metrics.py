"""``pykbroker client-metrics``: subscriptions of client metrics, which say what clients are to send (KIP-714)."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.topics import report
from pykbroker.client.client_metrics import alter_subscription, subscription_names, subscription_settings
from pykbroker.client.errors import ClientError, UsageError, refusal
from pykbroker.wire.errors import ErrorCode, KafkaError

app = typer.Typer(help="List, set and remove subscriptions of clients' metrics.", no_args_is_help=True)

_SETTINGS = ("interval.ms", "metrics", "match")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The subscription's name.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only have the broker validate the request.")]


@app.command("list")
@with_option_values
def list_subscriptions(*, at: ConnectionOptions, as_json: Json = False) -> None:
    """List subscriptions with what they ask for."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        try:
            found = {name: subscription_settings(client, name) for name in sorted(subscription_names(client))}
        except KafkaError as error:
            raise ClientError(refusal("Subscriptions", error)) from error
    rows: list[dict[str, Any]] = [
        {"name": name, **{each.name: each.value for each in settings}} for name, settings in found.items()
    ]
    if as_json:
        out.json(rows)
    elif rows:
        columns = {"name": "NAME", "interval.ms": "INTERVAL MS", "metrics": "METRICS", "match": "CLIENTS"}
        out.table(columns, [dict.fromkeys(columns, "") | row | {"match": row.get("match") or "(all)"} for row in rows])
    else:
        out.remark("There are no subscriptions: no client is asked for its metrics.")


@app.command("set")
@with_option_values
def set_subscription(
    name: Name,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", metavar="PREFIX", help="What their names begin with, or *; may be repeated."),
    ] = None,
    interval_ms: Annotated[
        int | None, typer.Option("--interval-ms", metavar="MS", help="How often clients send. [default 300000]")
    ] = None,
    match: Annotated[
        list[str] | None,
        typer.Option("--match", metavar="NAME=PATTERN", help="Which clients, as client_id=app-.*; may be repeated."),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Make a subscription, or change what is given of one."""
    given = {"metrics": metrics, "interval.ms": None if interval_ms is None else [str(interval_ms)], "match": match}
    values: dict[str, str | None] = {key: ",".join(value) for key, value in given.items() if value}
    if not values:
        raise UsageError("Give --metrics, --interval-ms or --match.")
    _alter(at, Output(as_json=as_json), name, values, "is set", dry_run=dry_run)


@app.command("remove")
@with_option_values
def remove_subscription(name: Name, *, at: ConnectionOptions, as_json: Json = False, dry_run: DryRun = False) -> None:
    """Remove a subscription: clients that no other one matches send nothing from their next request on."""
    _alter(at, Output(as_json=as_json), name, dict.fromkeys(_SETTINGS), "is removed", dry_run=dry_run)


def _alter(
    at: ConnectionOptions, out: Output, name: str, values: dict[str, str | None], done: str, *, dry_run: bool
) -> None:
    code, message = ErrorCode.NONE, None
    with at.connect() as client:
        try:
            alter_subscription(client, name, values, validate_only=dry_run)
        except KafkaError as error:
            code, message = ErrorCode(error.code), error.message
    outcome = f"would be changed: {done}" if dry_run else done
    report(out, [(name, code, message, outcome)], {ErrorCode.NONE}, what="Subscription")
