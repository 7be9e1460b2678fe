"""``pykbroker logdirs``: the log directories of brokers, and the size of the partitions in them."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from pykbroker.cli.completion import broker_ids, topic_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.sizes import format_size
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, refusal
from pykbroker.client.log_dir_state import describe_log_dirs
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsResult

_UNKNOWN = -1


@with_option_values
def logdirs(
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC", autocompletion=topic_names, help="Only these topics.")
    ] = None,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    broker: Annotated[
        list[int] | None,
        typer.Option(
            "--broker", autocompletion=broker_ids, min=0, metavar="N", help="Only this broker; may be repeated."
        ),
    ] = None,
    partitions: Annotated[bool, typer.Option("--partitions", help="Each partition in its log directory.")] = False,
) -> None:
    """Show the log directories of brokers: space, partitions, sizes."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        ids = sorted(set(broker)) if broker else client.node_ids()
        wanted = _wanted(client, topics) if topics else None
        rows = []
        for node_id in ids:
            connection = client.named_node(node_id)
            found = client.retrying(partial(describe_log_dirs, connection, wanted))
            rows += [_row(node_id, result) for result in sorted(found, key=lambda result: result.log_dir)]
    if as_json:
        out.json(rows)
    elif partitions or topics:
        _print_partitions(out, rows)
    else:
        columns = {
            "broker": "BROKER",
            "path": "PATH",
            "count": "PARTITIONS",
            "size": "SIZE",
            "total": "DISK",
            "usable": "FREE",
            "error": "ERROR",
        }
        shown = [
            row | {name: format_size(row[name]) for name in ("size", "total", "usable")} | {"count": _count(row)}
            for row in rows
        ]
        out.table(columns, shown)
    if bad := [row for row in rows if row["error"]]:
        raise ClientError("\n".join(f"Broker {row['broker']}: {row['path']}: {row['error']}." for row in bad))


def _wanted(client: Client, topics: list[str]) -> list[DescribableLogDirTopic]:
    wanted = []
    for name in topics:
        try:
            numbers = [p.partition_index for p in client.topic(name).partitions]
        except KafkaError as error:
            raise ClientError(refusal(f"Topic {name}", error)) from error
        wanted.append(DescribableLogDirTopic(topic=name, partitions=numbers))
    return wanted


def _row(broker: int, result: DescribeLogDirsResult) -> dict[str, Any]:
    held = [
        {
            "topic": topic.name,
            "partition": partition.partition_index,
            "size": partition.partition_size,
            "offset_lag": partition.offset_lag,
            "future": partition.is_future_key,
        }
        for topic in sorted(result.topics, key=lambda topic: topic.name)
        for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index)
    ]
    return {
        "broker": broker,
        "path": result.log_dir,
        "error": error_code(result.error_code).name if result.error_code != ErrorCode.NONE else None,
        "total": None if result.total_bytes == _UNKNOWN else result.total_bytes,
        "usable": None if result.usable_bytes == _UNKNOWN else result.usable_bytes,
        "cordoned": result.is_cordoned,
        "size": sum(item["size"] for item in held),
        "partitions": held,
    }


def _count(row: dict[str, Any]) -> int:
    return len(row["partitions"])


def _print_partitions(out: Output, rows: list[dict[str, Any]]) -> None:
    columns = {
        "broker": "BROKER",
        "topic": "TOPIC",
        "partition": "PARTITION",
        "size": "BYTES",
        "offset_lag": "LAG",
        "future": "MOVING",
        "path": "PATH",
    }
    flat = [{"broker": row["broker"], "path": row["path"]} | item for row in rows for item in row["partitions"]]
    if flat:
        out.table(columns, flat)
    else:
        out.remark("No log directory holds such a partition.")
