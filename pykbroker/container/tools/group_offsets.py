"""Resets and deletes committed offsets: ``kafka-consumer-groups --reset-offsets`` and ``--delete-offsets``."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pykbroker.cli.times import parse_duration, parse_when
from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.client.offsets import (
    Bounds,
    TopicPartition,
    by_topic,
    chosen_partitions,
    commit_offsets,
    committed_offsets,
)
from pykbroker.container.tools.columns import print_spaced
from pykbroker.container.tools.printing import print_error, print_lines
from pykbroker.container.tools.running import Options, ToolError, exactly_one
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)

_TARGETS: Final = (
    *("to-earliest", "to-latest", "to-current", "to-offset", "to-datetime", "by-duration", "shift-by", "from-file"),
)
#: Columns of a plan for several groups.
_WITH_GROUP: Final = 4
_NOT_SAID: Final = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require either "
    "--dry-run or --execute to be specified. You should add the --dry-run option explicitly if you are scripting this command "
    "and want to keep the current default behavior without prompting."
)

Places = dict[TopicPartition, int]


def add_options(made: Options) -> None:
    """Add the options that choose the new offsets."""
    made.flags("to-earliest", "to-latest", "to-current")
    made.add_argument("--to-offset", metavar="N", type=int)
    made.add_argument("--shift-by", metavar="N", type=int)
    made.add_argument("--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss")
    made.add_argument("--by-duration", metavar="PnDTnHnMnS", help="so long before now")
    made.add_argument(
        "--from-file", metavar="FILE", help="topic,partition,offset in lines; for several groups group,..."
    )


def reset(client: Client, groups: Sequence[str], options: argparse.Namespace) -> None:
    """Plan, and with ``--execute`` commit; prints a table, or with ``--export`` lines for ``--from-file``."""
    form = exactly_one(
        argparse.Namespace(**{each.replace("-", "_"): _confirmed(options, each) for each in _TARGETS}), _TARGETS
    )
    if options.execute and options.dry_run:
        raise ToolError("Only one of --execute and --dry-run may be given.")
    if not options.execute and not options.dry_run:
        print_error(_NOT_SAID)
    planned = {name: _plan(client, name, form, options, several=len(groups) > 1) for name in groups}
    if options.execute:
        for name, places in planned.items():
            commit_offsets(client, name, places)
    rows = [
        (name, each.topic, str(each.number), str(offset))
        for name, places in planned.items()
        for each, offset in sorted(places.items())
    ]
    if options.export:
        for row in rows:
            print_lines(_as_csv(row if len(groups) > 1 else row[1:]))
    else:
        print_spaced([("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), *rows])


def _as_csv(row: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(row)
    return line.getvalue()


def _confirmed(options: argparse.Namespace, name: str) -> bool:
    return getattr(options, name.replace("-", "_")) not in (None, False)


def _plan(client: Client, group: str, form: str, options: argparse.Namespace, *, several: bool) -> Places:
    if form == "from-file":
        asked = _of_file(options.from_file, group, several=several)
        return Bounds(client, asked).inside(asked)
    current = committed_offsets(client, group)
    partitions = sorted(current) if options.all_topics else _named(client, options.topic)
    if not partitions:
        raise ToolError("--reset-offsets needs --topic NAME or --all-topics.")
    return _target(client, form, options, current, partitions)


def _named(client: Client, topics: Sequence[str]) -> list[TopicPartition]:
    found: list[TopicPartition] = []
    for text in topics:
        try:
            found += chosen_partitions(client, text)[0]
        except ValueError as error:
            raise ToolError(str(error)) from error
    return sorted(found)


def _of_file(path: str, group: str, *, several: bool) -> Places:
    """Read a plan. Raises ToolError and OSError."""
    found: Places = {}
    with Path(path).open(newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            if not row:
                continue
            its_group = row[0] if len(row) == _WITH_GROUP else None if several else group
            try:
                topic, partition, offset = row[-3:]
                place = TopicPartition(topic, int(partition)), int(offset)
            except ValueError as error:
                raise ToolError(f"{path}, line {number}: {','.join(row)!r} is not topic,partition,offset.") from error
            if its_group is None:
                raise ToolError(f"{path}, line {number}: of several groups it wants group,topic,partition,offset.")
            if its_group == group:
                found[place[0]] = place[1]
    return found


def _target(
    client: Client, form: str, options: argparse.Namespace, current: Places, partitions: list[TopicPartition]
) -> Places:
    """Return the new offset of each partition."""
    bounds = Bounds(client, partitions)
    if form in ("to-datetime", "by-duration"):
        return bounds.since(_since(client, form, options))
    wanted = {
        "to-earliest": bounds.start,
        "to-latest": bounds.end,
        "to-current": bounds.end | current,
        "to-offset": dict.fromkeys(partitions, options.to_offset or 0),
        "shift-by": {each: current.get(each, bounds.end[each]) + (options.shift_by or 0) for each in partitions},
    }[form]
    return bounds.inside({each: wanted[each] for each in partitions})


def _since(client: Client, form: str, options: argparse.Namespace) -> int:
    now_ms = client.clock.now_ms()
    return (
        parse_when(options.to_datetime, now_ms)
        if form == "to-datetime"
        else now_ms - parse_duration(options.by_duration)
    )


def delete(client: Client, group: str, options: argparse.Namespace) -> None:
    """Delete committed offsets of topics that no member subscribes to."""
    if not options.topic:
        raise ToolError("--delete-offsets needs --topic NAME.")
    partitions, unknown = _there(client, options.topic)
    topics = [
        OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(index) for index, _ in some])
        for topic, some in by_topic((each, 0) for each in partitions)
    ]
    answer = client.retrying(lambda: _ask_once(client, group, OffsetDeleteRequest(group_id=group, topics=topics)))
    told = {
        (topic.name, str(each.partition_index)): error_code(each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    } | {(name, "-"): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for name in unknown}
    failed = [code for code in told.values() if code is not ErrorCode.NONE]
    print_lines("", f"Request succeeded for deleting offsets from group {group}.")
    print_spaced(
        [
            ("TOPIC", "PARTITION", "STATUS"),
            *((*where, f"Error: {code.default_message}" if code else "Successful") for where, code in told.items()),
        ]
    )
    if failed:
        raise ToolError(f"{len(failed)} of {len(told)} offsets were not deleted.")


def _there(client: Client, topics: Sequence[str]) -> tuple[list[TopicPartition], list[str]]:
    """Return the partitions, and the topics that do not exist."""
    found: list[TopicPartition] = []
    unknown: list[str] = []
    for text in topics:
        try:
            found += _named(client, [text])
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            unknown.append(text)
    return found, unknown


def _ask_once(client: Client, group: str, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    answer = client.coordinator(group).call(request, OffsetDeleteResponse)
    raise_for(answer.error_code)
    return answer
