"""``pykbroker consume``: print the records of topics."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from pykbroker.cli.binary_text import Encoding
from pykbroker.cli.completion import group_names, topic_names
from pykbroker.cli.options import BOOTSTRAP, TIMEOUT, Bootstrap, CommandConfig, Timeout, connect
from pykbroker.cli.output import Output
from pykbroker.cli.positions import HELP as PLACES_HELP
from pykbroker.cli.positions import parse_places
from pykbroker.cli.reader import Printer, Reader
from pykbroker.cli.record_filter import HELP as FILTERS_HELP
from pykbroker.cli.record_filter import parse_filters
from pykbroker.cli.record_format import (
    FIELDS_HELP,
    Formatter,
    column_formatter,
    custom_formatter,
    json_formatter,
)
from pykbroker.cli.signals import all_end_as_ctrl_c
from pykbroker.cli.start import Start
from pykbroker.cli.times import parse_when
from pykbroker.cli.topic_patterns import matching_topics
from pykbroker.cli.until import Until, parse_until
from pykbroker.cli.value_files import ValueFiles
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, UsageError, refusal
from pykbroker.client.membership import Membership
from pykbroker.client.offsets import Partition
from pykbroker.wire.errors import KafkaError

_FROM = "Where to start (at most one)"
_SHOW = "What to print of each record"


def consume(
    topics: Annotated[list[str] | None, typer.Argument(metavar="TOPIC", autocompletion=topic_names)] = None,
    *,
    bootstrap: Bootstrap = BOOTSTRAP,
    timeout: Timeout = TIMEOUT,
    command_config: CommandConfig = None,
    topic_regex: Annotated[
        list[str] | None,
        typer.Option("--topic-regex", metavar="REGEX", help="Existing topics whose whole name matches."),
    ] = None,
    partition: Annotated[
        list[int] | None,
        typer.Option("--partition", "-p", metavar="N", min=0, help="Only this partition; may be repeated."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            metavar="GROUP",
            autocompletion=group_names,
            help="Join this group, resume at its offsets, and commit what was printed.",
        ),
    ] = None,
    beginning: Annotated[
        bool, typer.Option("--beginning", help="From the earliest offset, the default.", rich_help_panel=_FROM)
    ] = False,
    end: Annotated[bool, typer.Option("--end", help="From the end: only new records.", rich_help_panel=_FROM)] = False,
    offset: Annotated[
        str | None,
        typer.Option("--offset", "-o", metavar="PLACE", help=f"This offset, or {PLACES_HELP}.", rich_help_panel=_FROM),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="The first record since 2026-01-31T14:00Z, or 15m ago.",
            rich_help_panel=_FROM,
        ),
    ] = None,
    last: Annotated[
        int | None, typer.Option("--last", min=1, metavar="N", help="The last N records.", rich_help_panel=_FROM)
    ] = None,
    max_records: Annotated[
        int | None, typer.Option("--max", "-n", min=1, metavar="N", help="Stop after N records.")
    ] = None,
    exit_at_end: Annotated[
        bool, typer.Option("--exit", "-e", help="Stop at what was the end of the topic at the start.")
    ] = False,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="PLACE",
            help="End before this offset or time, or at the `end`: where the topic ended at the start, at the latest.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--filter", metavar="CONDITION", help=f"Only records that match {FILTERS_HELP}; all of them hold."
        ),
    ] = None,
    committed: Annotated[
        bool, typer.Option("--committed", help="Leave out records of open and aborted transactions.")
    ] = False,
    show_key: Annotated[bool, typer.Option("--key", "-k", help="The key.", rich_help_panel=_SHOW)] = False,
    show_headers: Annotated[bool, typer.Option("--headers", "-H", help="The headers.", rich_help_panel=_SHOW)] = False,
    show_timestamp: Annotated[bool, typer.Option("--timestamp", "-t", help="The time.", rich_help_panel=_SHOW)] = False,
    show_all: Annotated[bool, typer.Option("--all", "-a", help="Everything.", rich_help_panel=_SHOW)] = False,
    template: Annotated[
        str | None,
        typer.Option("--format", "-f", metavar="FORMAT", help=FIELDS_HELP + ", \\n \\t.", rich_help_panel=_SHOW),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.", rich_help_panel=_SHOW)] = False,
    as_hex: Annotated[
        bool, typer.Option("--hex", help="Keys and values in hexadecimal.", rich_help_panel=_SHOW)
    ] = False,
    as_base64: Annotated[
        bool, typer.Option("--base64", help="Keys and values in base64.", rich_help_panel=_SHOW)
    ] = False,
    value_files: Annotated[
        Path | None,
        typer.Option(
            "--value-files", metavar="DIR", help="Each value in a file; its path is printed.", rich_help_panel=_SHOW
        ),
    ] = None,
) -> None:
    """Print records, including new ones, until Ctrl-C, --max, --until or --exit."""
    out = Output(as_json=as_json)
    if sum([beginning, end, offset is not None, since is not None, last is not None]) > 1:
        raise UsageError("Give one of --beginning, --end, --offset, --since and --last.")
    if group is not None and (partition or last is not None):
        raise UsageError("With --group, the group decides on partitions: --partition and --last cannot be given.")
    if bool(topics) == bool(topic_regex):
        raise UsageError("Name topics, or give --topic-regex.")
    if exit_at_end and until is not None:
        raise UsageError("Give --exit or --until, not both.")
    columns = "topDhkv" if show_all else "D" * show_timestamp + "h" * show_headers + "k" * show_key + "v"
    encoding = Encoding.HEX if as_hex else Encoding.BASE64 if as_base64 else Encoding.TEXT
    formatter = _formatter(out, columns, template, encoding, value_files, both=as_hex and as_base64)
    printer = Printer(formatter, max_records, parse_filters(where or []))
    with (
        connect(bootstrap, timeout, command_config) as client,
        closing(Reader(client, out, printer, committed_only=committed)) as reader,
        all_end_as_ctrl_c(),
    ):
        now_ms = client.clock.now_ms()
        when = None if since is None else parse_when(since, now_ms)
        places = None if offset is None else parse_places(offset)
        options = {
            "--beginning": beginning,
            "--end": end,
            "--offset": offset is not None,
            "--since": since is not None,
            "--last": last is not None,
        }
        option = next((name for name, given in options.items() if given), None)
        start = Start(option, at_end=end, places=places, timestamp=when, last=last)
        stop = Until(at_end=exit_at_end) if until is None else parse_until(until, now_ms)
        try:
            topics = topics or matching_topics(client, topic_regex or [])
            partitions = _partitions(client, topics, partition or [])
            if places is not None:
                places.check(p.number for p in partitions)
            if group is None:
                reader.read(partitions, start, stop)
                return
            with connect(bootstrap, timeout, command_config) as own:
                membership = Membership(own, group, topics)
                reader.read_as_member(membership, group, start, stop)
        except KafkaError as error:
            raise ClientError(refusal(f"Reading {', '.join(topics or ['topics'])}", error)) from error
        except KeyboardInterrupt:
            return  # Ctrl-C is the normal way to stop watching a topic


def _partitions(client: Client, topics: Iterable[str], wanted: list[int]) -> list[Partition]:
    partitions = []
    for topic in topics:
        known = {p.partition_index for p in client.topic(topic).partitions}
        if missing := set(wanted) - known:
            raise UsageError(f"Topic {topic} has no partition {', '.join(map(str, sorted(missing)))}.")
        partitions += [Partition(topic, index) for index in sorted(wanted or known)]
    return partitions


def _formatter(
    out: Output, columns: str, template: str | None, encoding: Encoding, value_files: Path | None, *, both: bool
) -> Formatter:
    """Return how to print a record. Raises UsageError for options that exclude each other."""
    encoded = encoding is not Encoding.TEXT
    ways = {"--json": out.as_json, "--format": template is not None, "--value-files": value_files is not None}
    given = [name for name, on in ways.items() if on]
    if len(given) > 1:
        raise UsageError(f"Give {' or '.join(given)}, not both.")
    if both or (encoded and given and template is None):
        raise UsageError("Give one of --hex, --base64, --json and --value-files; JSON has base64 where it is needed.")
    if out.as_json:
        return json_formatter
    if value_files is not None:
        return ValueFiles(value_files)
    if template is not None:
        return custom_formatter(template, terminal=out.is_terminal, encoding=encoding)
    return column_formatter(columns, terminal=out.is_terminal, encoding=encoding)
