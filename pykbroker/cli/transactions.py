"""``pykbroker transactions``: lists, describes and aborts transactions, also hanging ones (KIP-664)."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from pykbroker.cli.completion import topic_names, transactional_ids
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.times import format_ms, parse_duration
from pykbroker.cli.topics import confirm
from pykbroker.cli.transaction_producers import producers
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, UsageError, refusal
from pykbroker.client.offsets import TopicPartition
from pykbroker.client.transaction_end import end_hanging, fence
from pykbroker.client.transaction_state import ANY_DURATION, described_transaction, listed_transactions
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.describe_transactions import TransactionState
from pykbroker.wire.messages.list_transactions import ListTransactionsRequest

app = typer.Typer(help="List, describe and abort transactions.", no_args_is_help=True)
app.command("producers")(producers)


@app.command("list")
@with_option_values
def list_transactions(
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    state: Annotated[
        list[str] | None, typer.Option("--state", help="Only in this state, as Ongoing; may be repeated.")
    ] = None,
    longer_than: Annotated[
        str | None, typer.Option("--longer-than", metavar="DURATION", help="Only those open longer than this, as 15m.")
    ] = None,
    pattern: Annotated[
        str | None, typer.Option("--pattern", metavar="REGEX", help="Only transactional ids that match.")
    ] = None,
) -> None:
    """List transactional ids with the state of their transactions."""
    out = Output(as_json=as_json)
    request = ListTransactionsRequest(
        state_filters=state or [],
        duration_filter=ANY_DURATION if longer_than is None else parse_duration(longer_than),
        transactional_id_pattern=pattern,
    )
    rows: list[dict[str, Any]] = []
    with at.connect() as client:
        for node_id in client.node_ids():
            connection = client.node(node_id)
            for found in client.retrying(partial(listed_transactions, connection, request)):
                row = {"id": found.transactional_id, "state": found.transaction_state, "producer": found.producer_id}
                rows.append(row | {"coordinator": node_id})
    rows.sort(key=lambda row: row["id"])
    if as_json:
        out.json(rows)
    elif rows:
        columns = {
            "id": "TRANSACTIONAL ID",
            "state": "STATE",
            "producer": "PRODUCER ID",
            "coordinator": "COORDINATOR",
        }
        out.table(columns, rows)
    else:
        filtered = state or longer_than or pattern
        out.remark("There are no such transactions." if filtered else "There are no transactional ids.")


@app.command()
@with_option_values
def describe(
    ids: Annotated[
        list[str],
        typer.Argument(metavar="ID", autocompletion=transactional_ids, help="One transactional id or several."),
    ],
    *,
    at: ConnectionOptions,
    as_json: Json = False,
) -> None:
    """Show a transaction's producer, state, age and partitions."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        rows = [_row(_describe(client, name), client.clock.now_ms()) for name in ids]
    if as_json:
        out.json(rows)
        return
    columns = {
        "id": "TRANSACTIONAL ID",
        "state": "STATE",
        "producer": "PRODUCER ID",
        "epoch": "EPOCH",
        "started": "STARTED",
        "timeout_ms": "TIMEOUT MS",
        "partitions": "PARTITIONS",
    }
    out.table(columns, rows)


def _describe(client: Client, name: str) -> TransactionState:
    try:
        return described_transaction(client, name)
    except KafkaError as error:
        raise ClientError(refusal(f"Transactional id {name}", error)) from error


def _row(found: TransactionState, now_ms: int) -> dict[str, Any]:
    started = found.transaction_start_time_ms
    return {
        "id": found.transactional_id,
        "state": found.transaction_state,
        "producer": found.producer_id,
        "epoch": found.producer_epoch,
        "timeout_ms": found.transaction_timeout_ms,
        "started": None if started < 0 else format_ms(started),
        "age_ms": None if started < 0 else max(now_ms - started, 0),
        "partitions": sorted(f"{topic.topic}-{index}" for topic in found.topics for index in topic.partitions),
    }


@app.command()
@with_option_values
def abort(
    name: Annotated[
        str | None, typer.Argument(metavar="ID", autocompletion=transactional_ids, help="The transactional id.")
    ] = None,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    topic: Annotated[
        str | None,
        typer.Option("--topic", "-t", autocompletion=topic_names, help="The partition of a hanging transaction."),
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0, help="Its partition.")] = None,
    start_offset: Annotated[
        int | None, typer.Option("--start-offset", min=0, metavar="N", help="Its first offset there.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Abort the transaction of an id and fence its producer.

    A hanging transaction, which its coordinator has forgotten, is named by --topic, --partition and --start-offset, as
    `transactions producers` shows them.
    """
    out = Output(as_json=as_json)
    place = (topic, partition, start_offset)
    if (name is None) == (None in place) or (name is not None and place != (None, None, None)):
        raise UsageError("Give a transactional id, or --topic, --partition and --start-offset.")
    if name is not None:
        what, question = f"Transactional id {name}", f"Abort the transaction of {name} and fence its producer?"
    else:
        what, question = f"{topic}-{partition}", f"Abort what began at offset {start_offset} of {topic}-{partition}?"
    confirm(out, question, yes=yes)
    with at.connect() as client:
        try:
            if name is not None:
                _describe(client, name)  # so that a mistyped id is not created
                result: dict[str, Any] = {"id": name, **fence(client, name)}
            else:
                result = end_hanging(client, TopicPartition(topic or "", partition or 0), start_offset or 0)
        except KafkaError as error:
            raise ClientError(refusal(what, error)) from error
    if as_json:
        out.json(result)
    elif name is not None:
        out.line(f"{name} has no open transaction, its producer is fenced")
    else:
        out.line(f"{what} aborted what producer {result['producer']} began at offset {start_offset}")
