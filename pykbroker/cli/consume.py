"""``pykbroker consume``: print the records of topics."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Annotated

import typer

from pykbroker.cli.client import Client
from pykbroker.cli.completion import group_names, topic_names
from pykbroker.cli.membership import Membership
from pykbroker.cli.offsets import Partition
from pykbroker.cli.options import BOOTSTRAP, TIMEOUT, Bootstrap, Timeout, connect
from pykbroker.cli.output import Output
from pykbroker.cli.reader import Printer, Reader
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
from pykbroker.cli.trouble import CliError, UsageError, refusal
from pykbroker.wire.errors import KafkaError

_FROM = "Where to begin (at most one)"
_SHOW = "What to print of each record"


def consume(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC", autocompletion=topic_names)],
    *,
    bootstrap: Bootstrap = BOOTSTRAP,
    timeout: Timeout = TIMEOUT,
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
            help="Join this group, go on where it is, and commit what was printed.",
        ),
    ] = None,
    beginning: Annotated[
        bool, typer.Option("--beginning", help="The beginning; so it is by default.", rich_help_panel=_FROM)
    ] = False,
    end: Annotated[
        bool, typer.Option("--end", help="The end: only what comes from now on.", rich_help_panel=_FROM)
    ] = False,
    offset: Annotated[
        int | None, typer.Option("--offset", "-o", metavar="N", min=0, help="This offset.", rich_help_panel=_FROM)
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
        int | None, typer.Option("--max", "-n", min=1, metavar="N", help="End after N records.")
    ] = None,
    exit_at_end: Annotated[bool, typer.Option("--exit", "-e", help="End where the topic ended at the start.")] = False,
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
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.", rich_help_panel=_SHOW)] = False,
) -> None:
    """Print records, and go on as new ones come, until Ctrl-C, --max or --exit."""
    out = Output(as_json=as_json)
    if sum([beginning, end, offset is not None, since is not None, last is not None]) > 1:
        raise UsageError("Give one of --beginning, --end, --offset, --since and --last.")
    if group is not None and (partition or last is not None):
        raise UsageError("With --group, the group decides on partitions: --partition and --last cannot be given.")
    if as_json and template is not None:
        raise UsageError("Give --json or --format, not both.")
    columns = "topDhkv" if show_all else "D" * show_timestamp + "h" * show_headers + "k" * show_key + "v"
    formatter: Formatter
    if as_json:
        formatter = json_formatter
    elif template is not None:
        formatter = custom_formatter(template)
    else:
        formatter = column_formatter(columns, terminal=out.is_terminal)
    printer = Printer(formatter, max_records)
    with (
        connect(bootstrap, timeout) as client,
        closing(Reader(client, out, printer, committed_only=committed)) as reader,
        all_end_as_ctrl_c(),
    ):
        now_ms = client.clock.now_ms()
        when = None if since is None else parse_when(since, now_ms)
        options = {
            "--beginning": beginning,
            "--end": end,
            "--offset": offset is not None,
            "--since": since is not None,
            "--last": last is not None,
        }
        option = next((name for name, given in options.items() if given), None)
        start = Start(option, at_end=end, offset=offset, timestamp=when, last=last)
        try:
            if group is None:
                reader.read(_partitions(client, topics, partition or []), start, exit_at_end=exit_at_end)
                return
            _partitions(client, topics, [])  # says which topic is missing
            with connect(bootstrap, timeout) as own:
                membership = Membership(own, group, topics)
                reader.read_as_member(membership, group, start, exit_at_end=exit_at_end)
        except KafkaError as error:
            raise CliError(refusal(f"Reading {', '.join(topics)}", error)) from error
        except KeyboardInterrupt:
            return  # the ordinary end of watching a topic


def _partitions(client: Client, topics: Iterable[str], wanted: list[int]) -> list[Partition]:
    partitions = []
    for topic in topics:
        known = {p.partition_index for p in client.topic(topic).partitions}
        if missing := set(wanted) - known:
            raise UsageError(f"Topic {topic} has no partition {', '.join(map(str, sorted(missing)))}.")
        partitions += [Partition(topic, index) for index in sorted(wanted or known)]
    return partitions
