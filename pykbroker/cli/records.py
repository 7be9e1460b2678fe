"""``pykbroker records delete``: deletes records from the beginning of partitions."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from pykbroker.cli.completion import topic_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.positions import HELP, parse_places
from pykbroker.cli.times import parse_when
from pykbroker.cli.topics import confirm
from pykbroker.client.client import Client
from pykbroker.client.delete_records import delete_before
from pykbroker.client.errors import ClientError, UsageError, refusal
from pykbroker.client.offsets import EARLIEST, LATEST, TopicPartition, list_offsets
from pykbroker.wire.errors import KafkaError

app = typer.Typer(help="Delete records from the beginning of partitions.", no_args_is_help=True)


@app.callback()
def records() -> None:
    """Delete records from the beginning of partitions."""


@app.command()
@with_option_values
def delete(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", autocompletion=topic_names)],
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    before: Annotated[
        str | None, typer.Option("--before", metavar="PLACE", help=f"Records before this offset: {HELP}.")
    ] = None,
    before_time: Annotated[
        str | None,
        typer.Option("--before-time", metavar="TIME", help="Records before the first one since this time."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be deleted.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete the records before an offset or a time. Partitions that --before does not name keep all records."""
    if (before is None) == (before_time is None):
        raise UsageError("Give --before PLACE or --before-time TIME (one of them).")
    out = Output(as_json=as_json)
    with at.connect() as client:
        try:
            partitions = [TopicPartition(topic, p.partition_index) for p in client.topic(topic).partitions]
            beginnings = list_offsets(client, dict.fromkeys(partitions, EARLIEST))
            ends = list_offsets(client, dict.fromkeys(partitions, LATEST))
            if before is not None:
                targets = _places(before, beginnings, ends)
            else:
                targets = _times(client, partitions, str(before_time), ends)
            _check(targets, ends)
            targets = {p: offset for p, offset in targets.items() if offset > beginnings[p]}
            count = sum(offset - beginnings[p] for p, offset in targets.items())
            if targets and not dry_run:
                confirm(out, f"Delete {count} offsets at the beginning of {topic}?", yes=yes)
                results = {p: client.retrying(partial(delete_before, client, p, targets[p])) for p in sorted(targets)}
            else:
                results = targets
        except KafkaError as error:
            raise ClientError(refusal(f"Topic {topic}", error)) from error
    _show(out, beginnings, results, dry_run=dry_run)


def _places(
    text: str, beginnings: dict[TopicPartition, int], ends: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    places = parse_places(text)
    places.check(p.number for p in ends)
    wanted = {p: place for p in ends if (place := places.place(p.number)) is not None}
    return {p: place.offset(beginnings[p], ends[p]) for p, place in wanted.items()}


def _times(
    client: Client, partitions: list[TopicPartition], text: str, ends: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    timestamp = parse_when(text, client.clock.now_ms())
    found = list_offsets(client, dict.fromkeys(partitions, timestamp))
    return {p: offset if offset >= 0 else ends[p] for p, offset in found.items()}


def _check(targets: dict[TopicPartition, int], ends: dict[TopicPartition, int]) -> None:
    """Refuse all if an offset is after a partition's end: it is a mistake, and deletion cannot be undone."""
    for partition, offset in sorted(targets.items()):
        if offset > ends[partition]:
            raise ClientError(
                f"{partition} ends at offset {ends[partition]}: nothing was deleted, {offset} lies after it."
            )


def _show(
    out: Output, beginnings: dict[TopicPartition, int], results: dict[TopicPartition, int], *, dry_run: bool
) -> None:
    rows: list[dict[str, Any]] = [
        {"topic": p.topic, "partition": p.number, "before": beginnings[p], "after": after}
        for p, after in sorted(results.items())
    ]
    if out.as_json:
        out.json({"executed": not dry_run, "partitions": rows})
    elif rows:
        columns = {"topic": "TOPIC", "partition": "PARTITION", "before": "BEGAN AT", "after": "BEGINS AT"}
        out.table(columns, rows)
    else:
        out.remark("There is nothing to delete: every partition begins there or after.")
    if rows and dry_run:
        out.remark("A dry run: nothing was deleted.")
