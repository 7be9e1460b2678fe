"""``pykbroker offsets``: start and end of partitions, and offsets by timestamp."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple

import typer

from pykbroker.cli.completion import topic_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.times import format_ms, parse_when
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, UsageError, raise_for, refusal
from pykbroker.client.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, TopicPartition
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

_MAX_TIMESTAMP = -3
_NAMED = {"earliest": EARLIEST, "latest": LATEST, "max-timestamp": _MAX_TIMESTAMP, "local": -4, "tiered": -5}
_SINCE_VERSION = {_MAX_TIMESTAMP: 7, -4: 8, -5: 9}
_NO_OFFSET = -1


class OffsetAndTimestamp(NamedTuple):
    """An offset and the timestamp of its record, None if the broker returns none."""

    offset: int | None
    timestamp: int | None


@with_option_values
def offsets(
    topics: Annotated[
        list[str], typer.Argument(metavar="TOPIC", autocompletion=topic_names, help="One topic or several.")
    ],
    *,
    cluster: ConnectionOptions,
    as_json: Json = False,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", min=0, help="Only this partition; may be repeated.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help=f"The first offset since a time, as 2026-01-31T14:00Z or 15m (ago); or {', '.join(_NAMED)}.",
        ),
    ] = None,
    committed: Annotated[bool, typer.Option("--committed", help="Show the last stable offset as the end.")] = False,
) -> None:
    """Show where each partition begins and ends; with --at, the offset there and its record's timestamp."""
    out = Output(as_json=as_json)
    isolation = READ_COMMITTED if committed else READ_UNCOMMITTED
    with cluster.connect() as client:
        try:
            everywhere = [found for topic in topics for found in _partitions(client, topic, partition or [])]
            if at is None:
                rows = _ranges(client, everywhere, isolation)
            else:
                rows = _at(client, everywhere, _timestamp(at, client.clock.now_ms()), isolation)
        except KafkaError as error:
            raise ClientError(refusal(f"Topic {', '.join(topics)}", error)) from error
    columns = {"topic": "TOPIC", "partition": "PARTITION"}
    if at is None:
        columns |= {"start": "START", "end": "END", "offsets": "OFFSETS"}
    else:
        columns |= {"offset": "OFFSET", "time": "TIME"}
    if as_json:
        out.json(rows)
    else:
        out.table(columns, rows)


def _timestamp(text: str, now_ms: int) -> int:
    return _NAMED[text] if text in _NAMED else parse_when(text, now_ms)


def _partitions(client: Client, topic: str, wanted: list[int]) -> list[TopicPartition]:
    known = {p.partition_index for p in client.topic(topic).partitions}
    if missing := set(wanted) - known:
        raise UsageError(f"Topic {topic} has no partition {', '.join(map(str, sorted(missing)))}.")
    return [TopicPartition(topic, index) for index in sorted(set(wanted) or known)]


def _ranges(client: Client, partitions: list[TopicPartition], isolation: int) -> list[dict[str, Any]]:
    starts = _ask_all(client, dict.fromkeys(partitions, EARLIEST), isolation)
    ends = _ask_all(client, dict.fromkeys(partitions, LATEST), isolation)
    rows = []
    for found in partitions:
        start, end = starts[found].offset or 0, ends[found].offset or 0
        rows.append(
            {"topic": found.topic, "partition": found.number, "start": start, "end": end, "offsets": end - start}
        )
    return rows


def _at(client: Client, partitions: list[TopicPartition], timestamp: int, isolation: int) -> list[dict[str, Any]]:
    answers = _ask_all(client, dict.fromkeys(partitions, timestamp), isolation)
    return [
        {
            "topic": found.topic,
            "partition": found.number,
            "offset": answers[found].offset,
            "timestamp": answers[found].timestamp,
            "time": None if answers[found].timestamp is None else format_ms(answers[found].timestamp or 0),
        }
        for found in partitions
    ]


def _ask_all(
    client: Client, wanted: Mapping[TopicPartition, int], isolation: int
) -> dict[TopicPartition, OffsetAndTimestamp]:
    return {
        where: client.retrying(partial(_ask, client, where, timestamp, isolation))
        for where, timestamp in wanted.items()
    }


def _ask(client: Client, where: TopicPartition, timestamp: int, isolation: int) -> OffsetAndTimestamp:
    connection = client.leader(*where)
    needed = _SINCE_VERSION.get(timestamp, 0)
    if connection.version(ListOffsetsRequest.API_KEY) < needed:
        raise ClientError(f"The broker at {connection.address} cannot answer this: it needs ListOffsets {needed}.")
    asked = ListOffsetsPartition(partition_index=where.number, timestamp=timestamp)
    request = ListOffsetsRequest(
        replica_id=-1, isolation_level=isolation, topics=[ListOffsetsTopic(name=where.topic, partitions=[asked])]
    )
    ((answer,),) = (topic.partitions for topic in connection.call(request, ListOffsetsResponse).topics)
    raise_for(answer.error_code)
    return OffsetAndTimestamp(
        None if answer.offset == _NO_OFFSET else answer.offset, None if answer.timestamp < 0 else answer.timestamp
    )
