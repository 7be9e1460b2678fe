"""``pykbroker verify``: hold what a program has written against what it had to read, on any Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing
from typing import Annotated, Any

import typer

from pykbroker import judge
from pykbroker.cli.completion import topic_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output, counted
from pykbroker.client.client import Client
from pykbroker.client.errors import EXIT_FAILED, ClientError, UsageError, refusal
from pykbroker.client.fetcher import Fetcher
from pykbroker.client.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, TopicPartition, list_offsets
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.records import Record

#: What identifies a record beside fields of its value, in the words of --key and --order-by.
_WORDS = ("$value", "$key")
_HEADER = "$header."
_POLL_S = 0.5


@with_option_values
def verify(
    *,
    at: ConnectionOptions,
    source: Annotated[
        str, typer.Option("--in", metavar="TOPIC", autocompletion=topic_names, help="What the program had to read.")
    ],
    targets: Annotated[
        list[str],
        typer.Option(
            "--out", metavar="TOPIC", autocompletion=topic_names, help="What it has written; may be repeated."
        ),
    ],
    key: Annotated[
        str,
        typer.Option(
            "--key",
            metavar="FIELD",
            help="What identifies a record: a field of JSON values, $value, $key or $header.NAME.",
        ),
    ] = "$value",
    guarantee: Annotated[
        str, typer.Option("--guarantee", help=f"What was promised: {', '.join(judge.GUARANTEES)}.")
    ] = "exactly-once",
    in_order: Annotated[
        bool, typer.Option("--in-order", help="The order of each record key must be kept, too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find what a program has lost, doubled, written to one topic and not to another, read too early, or made up. The exit status is 1 if
    anything.

    Committed records of topics of any Kafka are compared, up to their present ends. As in: pykbroker verify --in orders --out
    charges --key id
    """
    if guarantee not in judge.GUARANTEES:
        raise UsageError(f"--guarantee is one of {', '.join(judge.GUARANTEES)}.")
    out = Output(as_json=as_json)
    identity = _identity(key)
    with at.connect() as client:
        read, *written = (list(_written(client, topic, identity)) for topic in (source, *targets))
        found = judge.findings(read, written, guarantee, in_order=in_order,
                               uncommitted=lambda: _uncommitted(client, source, identity, read))  # fmt: skip
    if as_json:
        told = [{"kind": each.kind, "identity": _as_text(each.identity), "places": each.places} for each in found]
        out.json({"in": len(read), "out": [len(each) for each in written], "findings": told})
    else:
        for each in found:
            out.line(f"{each.kind}: {_as_text(each.identity)} ({', '.join(each.places)})")
        sizes = ", ".join(f"{counted(len(each), 'record')} in {name}" for name, each in zip((source, *targets), (read, *written), strict=True))  # fmt: skip
        out.remark(f"{guarantee} {'does not hold' if found else 'holds'}: {sizes}")
    if found:
        raise typer.Exit(EXIT_FAILED)


def _uncommitted(
    client: Client, topic: str, identity: Callable[[Record], Hashable], read: list[judge.Occurrence]
) -> list[judge.Occurrence]:
    """What stands in a topic and is not committed: all but what was read of it. Raises ClientError."""
    committed = {each.place for each in read}
    everything = _written(client, topic, identity, committed_only=False)
    return [each for each in everything if each.place not in committed]


def _written(
    client: Client, topic: str, identity: Callable[[Record], Hashable], *, committed_only: bool = True
) -> Iterator[judge.Occurrence]:
    """The committed records of a topic up to its present end, or all. Raises ClientError."""
    isolation = READ_COMMITTED if committed_only else READ_UNCOMMITTED
    try:
        partitions = [TopicPartition(topic, each.partition_index) for each in client.topic(topic).partitions]
        starts = list_offsets(client, dict.fromkeys(partitions, EARLIEST))
        ends = list_offsets(client, dict.fromkeys(partitions, LATEST), isolation=isolation)
        with closing(Fetcher(client, committed_only=committed_only)) as fetcher:
            fetcher.assign({each: start for each, start in starts.items() if start < ends[each]})
            while fetcher.positions:
                for fetched in fetcher.poll(_POLL_S):
                    for record in fetched.records:
                        if record.offset < ends[fetched.partition]:
                            place = f"{topic}-{fetched.partition.number}@{record.offset}"
                            yield judge.Occurrence(_identify(identity, record, place), _bytes(record.key), place)
                fetcher.assign({each: at for each, at in fetcher.positions.items() if at < ends[each]})
    except KafkaError as error:
        raise ClientError(refusal(f"Reading {topic}", error)) from error


def _identify(identity: Callable[[Record], Hashable], record: Record, place: str) -> Hashable:
    try:
        return identity(record)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ClientError(f"The record {place} has nothing by which --key could identify it.") from error


def _identity(words: str) -> Callable[[Record], Hashable]:
    """What identifies a record. Raises UsageError."""
    if words == "$value":
        return lambda record: _bytes(record.value)
    if words == "$key":
        return lambda record: _bytes(record.key)
    if words.startswith(_HEADER):
        return lambda record: _bytes(dict(record.headers)[words.removeprefix(_HEADER)])
    if words.startswith("$") or not all(words.split(".")):
        raise UsageError(
            f"--key is a field of JSON values, as in id or order.id, or {', '.join(_WORDS)} or {_HEADER}NAME."
        )
    path = words.split(".")

    def field(record: Record) -> Hashable:
        found: Any = json.loads(_bytes(record.value) or b"")
        for name in path:
            found = found[name]
        return json.dumps(found, sort_keys=True)

    return field


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _as_text(identity: Hashable) -> str:
    if identity is None:
        return "null"
    return bytes(identity).decode(errors="replace") if isinstance(identity, bytes | memoryview) else str(identity)
