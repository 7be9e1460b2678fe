"""``pykbroker consume``: print the records of topics."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Annotated

import typer

from pykbroker.cli.completion import topic_names
from pykbroker.cli.consume_options import ShowOptions, SourceOptions, StartOptions, StopOptions
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions
from pykbroker.cli.output import Output
from pykbroker.cli.reader import ConsumeLoop, Printer
from pykbroker.cli.record_filter import parse_filters
from pykbroker.cli.schema_values import ValueDecodingOptions
from pykbroker.cli.signals import all_end_as_ctrl_c
from pykbroker.cli.topic_patterns import matching_topics
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, UsageError, refusal
from pykbroker.client.membership import GroupMembership
from pykbroker.client.offsets import TopicPartition
from pykbroker.wire.errors import KafkaError


@with_option_values
def consume(
    topics: Annotated[list[str] | None, typer.Argument(metavar="TOPIC", autocompletion=topic_names)] = None,
    *,
    at: ConnectionOptions,
    of: SourceOptions,
    begin: StartOptions,
    end: StopOptions,
    show: ShowOptions,
    by: ValueDecodingOptions,
) -> None:
    """Print records, including new ones, until Ctrl-C, --max, --until or --exit."""
    out = Output(as_json=show.as_json)
    begin.check(of.group)
    of.check(topics)
    end.check()
    printer = Printer(by.formatter(show.formatter(out)), end.max_records, parse_filters(of.where or []))
    with (
        at.connect() as client,
        closing(ConsumeLoop(client, out, printer, committed_only=of.committed)) as reader,
        all_end_as_ctrl_c(),
    ):
        now_ms = client.clock.now_ms()
        start, stop = begin.start(now_ms), end.stop(now_ms)
        try:
            topics = topics or matching_topics(client, of.topic_regex or [])
            partitions = _partitions(client, topics, of.partition or [])
            if start.places is not None:
                start.places.check(p.number for p in partitions)
            if of.group is None:
                reader.read(partitions, start, stop)
                return
            with at.connect() as own:
                reader.read_as_member(GroupMembership(own, of.group, topics), of.group, start, stop)
        except KafkaError as error:
            raise ClientError(refusal(f"Reading {', '.join(topics or ['topics'])}", error)) from error
        except KeyboardInterrupt:
            return  # Ctrl-C is the normal way to stop watching a topic


def _partitions(client: Client, topics: Iterable[str], wanted: list[int]) -> list[TopicPartition]:
    partitions = []
    for topic in topics:
        known = {p.partition_index for p in client.topic(topic).partitions}
        if missing := set(wanted) - known:
            raise UsageError(f"Topic {topic} has no partition {', '.join(map(str, sorted(missing)))}.")
        partitions += [TopicPartition(topic, index) for index in sorted(wanted or known)]
    return partitions
