"""``pykbroker groups reset``: sets the committed offsets of a group, or where a share group begins. A dry run unless --execute is given.

The forms are those of kafka-consumer-groups: a target outside of a partition's offsets becomes the nearest one inside,
and a time after the last record becomes the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from pykbroker.cli.completion import group_names, topic_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.times import parse_duration, parse_when
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, UsageError, refusal
from pykbroker.client.group_state import CLASSIC, SHARE, read_group
from pykbroker.client.offsets import Bounds, TopicPartition, chosen_partitions, commit_offsets, committed_offsets
from pykbroker.client.share_offsets import alter_share_offsets, share_offsets
from pykbroker.wire.errors import ErrorCode, KafkaError

_WITHOUT_MEMBERS = {"Empty", "Dead"}
_TARGET = "Target (exactly one)"


@dataclass(frozen=True)
class TopicOptions:
    """The partitions whose offsets are set."""

    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:0,1,2]",
            autocompletion=topic_names,
            help="A topic, or some of its partitions.",
        ),
    ] = None
    all_topics: Annotated[bool, typer.Option("--all-topics", help="All topics that the group has committed.")] = False

    def check(self) -> None:
        """Raises UsageError, unless one of the two is given."""
        if bool(self.topic) == self.all_topics:
            raise UsageError("Say which topics: --topic TOPIC (or TOPIC:0,1) once or more, or --all-topics.")


@dataclass(frozen=True)
class TargetOptions:
    """Where offsets are set to."""

    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="The beginning.", rich_help_panel=_TARGET)] = False
    to_latest: Annotated[bool, typer.Option("--to-latest", help="The end.", rich_help_panel=_TARGET)] = False
    to_current: Annotated[
        bool, typer.Option("--to-current", help="The committed offset; the end without one.", rich_help_panel=_TARGET)
    ] = False
    to_offset: Annotated[
        int | None, typer.Option("--to-offset", metavar="N", min=0, help="This offset.", rich_help_panel=_TARGET)
    ] = None
    to_datetime: Annotated[
        str | None,
        typer.Option(
            "--to-datetime",
            metavar="TIME",
            help="The first record since, as 2026-01-31T14:00Z.",
            rich_help_panel=_TARGET,
        ),
    ] = None
    by_duration: Annotated[
        str | None,
        typer.Option(
            "--by-duration",
            metavar="DURATION",
            help="The first record in the last 90m, PT2H, ...",
            rich_help_panel=_TARGET,
        ),
    ] = None
    shift_by: Annotated[
        int | None,
        typer.Option("--shift-by", metavar="N", help="N records on; negative: back.", rich_help_panel=_TARGET),
    ] = None

    def chosen(self) -> tuple[str, int | str | None]:
        """Return the one form that is given, and its value. Raises UsageError."""
        flags = {"earliest": self.to_earliest, "latest": self.to_latest, "current": self.to_current}
        values: dict[str, int | str | None] = {
            "offset": self.to_offset,
            "datetime": self.to_datetime,
            "duration": self.by_duration,
            "shift": self.shift_by,
        }
        chosen = [name for name, on in flags.items() if on]
        chosen += [name for name, value in values.items() if value is not None]
        if len(chosen) != 1:
            raise UsageError("Give exactly one of the --to-..., --by-duration and --shift-by options.")
        return chosen[0], values.get(chosen[0])


@with_option_values
def reset(
    group: Annotated[str, typer.Argument(metavar="GROUP", autocompletion=group_names)],
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    of: TopicOptions,
    target: TargetOptions,
    execute: Annotated[
        bool, typer.Option("--execute", help="Commit the offsets; without this, only show them.")
    ] = False,
) -> None:
    """Set the committed offsets of a group, or the start offsets of a share group. Shows what it would do unless --execute is given."""
    form, value = target.chosen()
    of.check()
    out = Output(as_json=as_json)
    with at.connect() as client:
        try:
            state, kind = _state(client, group)
            current = _current(client, group, kind)
            partitions = sorted(current) if of.all_topics else _named_partitions(client, of.topic or [])
            after = _Planner(client, current, partitions).targets(form, value)
            if execute:
                _require_no_members(group, state)
                set_offsets = alter_share_offsets if kind == SHARE else commit_offsets
                set_offsets(client, group, after)
        except KafkaError as error:
            raise ClientError(refusal(f"Group {group}", error)) from error
    rows = [{"topic": p.topic, "partition": p.number, "before": current.get(p), "after": after[p]} for p in partitions]
    _show(out, group, rows, executed=execute)
    if not execute and state not in _WITHOUT_MEMBERS:
        out.remark(f"Group {group} is {state}: its members must be stopped before --execute.")


def _show(out: Output, group: str, rows: list[dict[str, Any]], *, executed: bool) -> None:
    if out.as_json:
        out.json({"group": group, "executed": executed, "offsets": rows})
        return
    out.table({"topic": "TOPIC", "partition": "PARTITION", "before": "BEFORE", "after": "AFTER"}, rows)
    if not executed:
        out.remark("A dry run: nothing was changed. Add --execute to do it.")


def _state(client: Client, group: str) -> tuple[str, str]:
    """Return the group's state and type; a group that does not exist can be given committed offsets too."""
    try:
        found = client.retrying(lambda: read_group(client, group))
    except KafkaError as error:
        if error.code is ErrorCode.GROUP_ID_NOT_FOUND:
            return "Dead", CLASSIC
        raise
    return found.state, found.kind


def _current(client: Client, group: str, kind: str) -> dict[TopicPartition, int]:
    """Return the committed offsets; of a share group the offsets at which it begins."""
    if kind == SHARE:
        return {partition: known.start for partition, known in share_offsets(client, group).items()}
    return committed_offsets(client, group)


def _require_no_members(group: str, state: str) -> None:
    if state not in _WITHOUT_MEMBERS:
        raise ClientError(
            f"Group {group} is {state}: offsets can be reset only while it has no members. Stop its consumers first."
        )


def _named_partitions(client: Client, topics: Iterable[str]) -> list[TopicPartition]:
    partitions: set[TopicPartition] = set()
    for text in topics:
        try:
            chosen, missing = chosen_partitions(client, text)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if missing:
            raise UsageError(f"There is no partition {', '.join(map(str, sorted(missing)))}.")
        partitions.update(chosen)
    return sorted(partitions)


class _Planner:
    """Computes the new offset of each partition."""

    def __init__(self, client: Client, current: dict[TopicPartition, int], partitions: list[TopicPartition]) -> None:
        self._client = client
        self._current = current
        self._partitions = partitions
        self._bounds = Bounds(client, partitions)

    def targets(self, form: str, value: int | str | None) -> dict[TopicPartition, int]:
        """Return the target of each partition. Raises UsageError for an invalid value."""
        now_ms = self._client.clock.now_ms()
        if form == "earliest":
            return self._bounds.start
        if form == "latest":
            return self._bounds.end
        if form == "datetime":
            return self._bounds.since(parse_when(str(value), now_ms))
        if form == "duration":
            return self._bounds.since(now_ms - parse_duration(str(value)))
        if form == "current":
            return self._bounds.inside({p: self._current.get(p, self._bounds.end[p]) for p in self._partitions})
        if form == "shift":
            return self._bounds.inside({p: self._require_current(p) + int(value or 0) for p in self._partitions})
        return self._bounds.inside(dict.fromkeys(self._partitions, int(value or 0)))

    def _require_current(self, partition: TopicPartition) -> int:
        if partition not in self._current:
            raise ClientError(f"The group has no offset of {partition} to shift; use another form for it.")
        return self._current[partition]
