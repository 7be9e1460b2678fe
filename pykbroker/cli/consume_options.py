"""The options of ``consume``, as values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from pykbroker.cli.binary_text import Encoding
from pykbroker.cli.completion import group_names
from pykbroker.cli.end_position import EndPosition, parse_until
from pykbroker.cli.output import Output
from pykbroker.cli.positions import HELP as PLACES_HELP
from pykbroker.cli.positions import parse_places
from pykbroker.cli.record_filter import HELP as FILTERS_HELP
from pykbroker.cli.record_format import (
    FIELDS_HELP,
    Formatter,
    column_formatter,
    custom_formatter,
    json_formatter,
)
from pykbroker.cli.start_position import StartPosition
from pykbroker.cli.times import parse_when
from pykbroker.cli.value_files import ValueFiles
from pykbroker.client.errors import UsageError

_FROM = "Where to start (at most one)"
_SHOW = "What to print of each record"


@dataclass(frozen=True)
class SourceOptions:
    """What is read."""

    topic_regex: Annotated[
        list[str] | None,
        typer.Option("--topic-regex", metavar="REGEX", help="Existing topics whose whole name matches."),
    ] = None
    partition: Annotated[
        list[int] | None,
        typer.Option("--partition", "-p", metavar="N", min=0, help="Only this partition; may be repeated."),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            metavar="GROUP",
            autocompletion=group_names,
            help="Join this group, resume at its offsets, and commit what was printed.",
        ),
    ] = None
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--filter", metavar="CONDITION", help=f"Only records that match {FILTERS_HELP}; all of them hold."
        ),
    ] = None
    committed: Annotated[
        bool, typer.Option("--committed", help="Leave out records of open and aborted transactions.")
    ] = False

    def check(self, topics: list[str] | None) -> None:
        """Raises UsageError, unless topics are either named or matched, and for a group with partitions of one's own."""
        if self.group is not None and self.partition:
            raise UsageError("With --group, the group decides on partitions: --partition cannot be given.")
        if bool(topics) == bool(self.topic_regex):
            raise UsageError("Name topics, or give --topic-regex.")


@dataclass(frozen=True)
class StartOptions:
    """Where to start."""

    beginning: Annotated[
        bool, typer.Option("--beginning", help="From the earliest offset, the default.", rich_help_panel=_FROM)
    ] = False
    end: Annotated[bool, typer.Option("--end", help="From the end: only new records.", rich_help_panel=_FROM)] = False
    offset: Annotated[
        str | None,
        typer.Option("--offset", "-o", metavar="PLACE", help=f"This offset, or {PLACES_HELP}.", rich_help_panel=_FROM),
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="The first record since 2026-01-31T14:00Z, or 15m ago.",
            rich_help_panel=_FROM,
        ),
    ] = None
    last: Annotated[
        int | None, typer.Option("--last", min=1, metavar="N", help="The last N records.", rich_help_panel=_FROM)
    ] = None

    def check(self, group: str | None) -> None:
        """Raises UsageError for options that exclude each other."""
        if len(self._given()) > 1:
            raise UsageError("Give one of --beginning, --end, --offset, --since and --last.")
        if group is not None and self.last is not None:
            raise UsageError("With --group, the group decides on partitions: --last cannot be given.")

    def start(self, now_ms: int) -> StartPosition:
        """Return where to start. Raises UsageError for a place or a time that cannot be parsed."""
        option = next(iter(self._given()), None)
        when = None if self.since is None else parse_when(self.since, now_ms)
        places = None if self.offset is None else parse_places(self.offset)
        return StartPosition(option, at_end=self.end, places=places, timestamp=when, last=self.last)

    def _given(self) -> list[str]:
        options = {
            "--beginning": self.beginning,
            "--end": self.end,
            "--offset": self.offset is not None,
            "--since": self.since is not None,
            "--last": self.last is not None,
        }
        return [name for name, given in options.items() if given]


@dataclass(frozen=True)
class StopOptions:
    """Where to stop."""

    max_records: Annotated[
        int | None, typer.Option("--max", "-n", min=1, metavar="N", help="Stop after N records.")
    ] = None
    exit_at_end: Annotated[
        bool, typer.Option("--exit", "-e", help="Stop at what was the end of the topic at the start.")
    ] = False
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="PLACE",
            help="End before this offset or time, or at the `end`: where the topic ended at the start, at the latest.",
        ),
    ] = None

    def check(self) -> None:
        """Raises UsageError for options that exclude each other."""
        if self.exit_at_end and self.until is not None:
            raise UsageError("Give --exit or --until, not both.")

    def stop(self, now_ms: int) -> EndPosition:
        """Return where to stop. Raises UsageError for what cannot be parsed."""
        return EndPosition(at_end=self.exit_at_end) if self.until is None else parse_until(self.until, now_ms)


@dataclass(frozen=True)
class ShowOptions:
    """What is printed of each record."""

    show_key: Annotated[bool, typer.Option("--key", "-k", help="The key.", rich_help_panel=_SHOW)] = False
    show_headers: Annotated[bool, typer.Option("--headers", "-H", help="The headers.", rich_help_panel=_SHOW)] = False
    show_timestamp: Annotated[bool, typer.Option("--timestamp", "-t", help="The time.", rich_help_panel=_SHOW)] = False
    show_all: Annotated[bool, typer.Option("--all", "-a", help="Everything.", rich_help_panel=_SHOW)] = False
    template: Annotated[
        str | None,
        typer.Option("--format", "-f", metavar="FORMAT", help=FIELDS_HELP + ", \\n \\t.", rich_help_panel=_SHOW),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.", rich_help_panel=_SHOW)] = False
    as_hex: Annotated[bool, typer.Option("--hex", help="Keys and values in hexadecimal.", rich_help_panel=_SHOW)] = (
        False
    )
    as_base64: Annotated[bool, typer.Option("--base64", help="Keys and values in base64.", rich_help_panel=_SHOW)] = (
        False
    )
    value_files: Annotated[
        Path | None,
        typer.Option(
            "--value-files", metavar="DIR", help="Each value in a file; its path is printed.", rich_help_panel=_SHOW
        ),
    ] = None

    def formatter(self, out: Output) -> Formatter:
        """Return how to print a record. Raises UsageError for options that exclude each other."""
        both = self.as_hex and self.as_base64
        encoding = Encoding.HEX if self.as_hex else Encoding.BASE64 if self.as_base64 else Encoding.TEXT
        ways = {
            "--json": self.as_json,
            "--format": self.template is not None,
            "--value-files": self.value_files is not None,
        }
        given = [name for name, on in ways.items() if on]
        if len(given) > 1:
            raise UsageError(f"Give {' or '.join(given)}, not both.")
        if both or (encoding is not Encoding.TEXT and given and self.template is None):
            raise UsageError(
                "Give one of --hex, --base64, --json and --value-files; JSON has base64 where it is needed."
            )
        if self.as_json:
            return json_formatter
        if self.value_files is not None:
            return ValueFiles(self.value_files)
        if self.template is not None:
            return custom_formatter(self.template, terminal=out.is_terminal, encoding=encoding)
        return column_formatter(self._columns(), terminal=out.is_terminal, encoding=encoding)

    def _columns(self) -> str:
        if self.show_all:
            return "topDhkv"
        return "D" * self.show_timestamp + "h" * self.show_headers + "k" * self.show_key + "v"
