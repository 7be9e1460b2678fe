"""``pykbroker reassignments``: lists, starts and cancels reassignments of partitions to other brokers (KIP-455)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pykbroker.cli.completion import topic_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.topics import report
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, UsageError, refusal
from pykbroker.client.offsets import TopicPartition
from pykbroker.client.reassignments import alter_moves, ongoing_moves
from pykbroker.wire.errors import ErrorCode, KafkaError

app = typer.Typer(help="List, start and cancel moves of partitions between brokers.", no_args_is_help=True)

Topics = Annotated[
    list[str] | None, typer.Argument(metavar="TOPIC", autocompletion=topic_names, help="Only these topics.")
]


@app.command("list")
@with_option_values
def list_reassignments(
    topics: Topics = None,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
) -> None:
    """List the ongoing reassignments."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        rows = [row for row in _ongoing(client) if not topics or row["topic"] in topics]
    if as_json:
        out.json(rows)
    elif rows:
        columns = {
            "topic": "TOPIC",
            "partition": "PARTITION",
            "replicas": "REPLICAS",
            "adding": "ADDING",
            "removing": "REMOVING",
        }
        out.table(columns, rows)
    else:
        out.remark("No partition is being moved.")


@app.command()
@with_option_values
def start(
    moves: Annotated[
        list[str],
        typer.Argument(
            metavar="TOPIC[:PARTITION]=BROKER,...", autocompletion=topic_names, help="As orders:0=1,2; the first leads."
        ),
    ],
    *,
    at: ConnectionOptions,
    as_json: Json = False,
) -> None:
    """Move partitions to the named brokers; a topic without a partition means all its partitions."""
    wanted: dict[TopicPartition, list[int] | None] = {}
    parsed = [_parse_move(text) for text in moves]
    with at.connect() as client:
        for topic, number, brokers in parsed:
            for partition in _named(client, topic, number):
                if partition in wanted:
                    raise UsageError(f"{partition} is named twice.")
                wanted[partition] = brokers
        _alter(client, Output(as_json=as_json), wanted, "is being moved")


@app.command()
@with_option_values
def cancel(
    partitions: Annotated[
        list[str] | None,
        typer.Argument(metavar="TOPIC[:PARTITION]", autocompletion=topic_names, help="Which moves; or --all."),
    ] = None,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    everything: Annotated[bool, typer.Option("--all", help="All moves under way.")] = False,
) -> None:
    """Cancel reassignments: the partitions stay on their original brokers."""
    if bool(partitions) == everything:
        raise UsageError("Say which moves: TOPIC or TOPIC:PARTITION, or --all.")
    out = Output(as_json=as_json)
    with at.connect() as client:
        under_way = [TopicPartition(row["topic"], row["partition"]) for row in _ongoing(client)]
        if everything:
            chosen = under_way
        else:
            chosen = []
            for text in partitions or []:
                topic, number = _parse_partition(text)
                of_topic = [p for p in under_way if p.topic == topic and number in (None, p.number)]
                if not of_topic:
                    raise ClientError(f"{text} is not being moved; `pykbroker reassignments list` shows what is.")
                chosen += of_topic
        if chosen:
            _alter(client, out, dict.fromkeys(chosen), "stays where it was")
        elif as_json:
            out.json([])
        else:
            out.remark("No partition is being moved.")


def _ongoing(client: Client) -> list[dict[str, Any]]:
    return [
        {
            "topic": partition.topic,
            "partition": partition.number,
            "replicas": found.replicas,
            "adding": found.adding_replicas,
            "removing": found.removing_replicas,
        }
        for partition, found in ongoing_moves(client).items()
    ]


def _alter(client: Client, out: Output, wanted: Mapping[TopicPartition, list[int] | None], done: str) -> None:
    """Request these replicas (None: cancel) and report the result of each partition. Raises ClientError."""
    said = alter_moves(client, wanted)
    results = [(str(partition), found.error_code, found.error_message, done) for partition, found in said.items()]
    report(out, results, {ErrorCode.NONE}, what="Partition")


def _named(client: Client, topic: str, number: int | None) -> list[TopicPartition]:
    try:
        known = [TopicPartition(topic, p.partition_index) for p in client.topic(topic).partitions]
    except KafkaError as error:
        raise ClientError(refusal(f"Topic {topic}", error)) from error
    chosen = [p for p in known if number in (None, p.number)]
    if not chosen:
        raise UsageError(f"Topic {topic} has no partition {number}.")
    return chosen


def _parse_move(text: str) -> tuple[str, int | None, list[int]]:
    where, separator, brokers = text.partition("=")
    ids = [part.strip() for part in brokers.split(",")]
    if not separator or not all(part.isdecimal() for part in ids):
        raise UsageError(f"{text!r} is not TOPIC=BROKER,... or TOPIC:PARTITION=BROKER,...; as orders:0=1,2.")
    return *_parse_partition(where), [int(part) for part in ids]


def _parse_partition(text: str) -> tuple[str, int | None]:
    topic, separator, number = text.partition(":")
    if not topic or (separator and not number.isdecimal()):
        raise UsageError(f"{text!r} is not TOPIC or TOPIC:PARTITION.")
    return topic, int(number) if separator else None
