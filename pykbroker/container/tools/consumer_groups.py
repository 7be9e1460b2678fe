"""``kafka-consumer-groups``: list, describe, delete groups, and set where they go on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pykbroker.cli.client import Client
from pykbroker.cli.group_state import Group, find_groups, read_group
from pykbroker.cli.offsets import EARLIEST, LATEST, Partition, commit_offsets, committed_offsets, list_offsets
from pykbroker.cli.times import parse_when
from pykbroker.container.tools.running import Options, ToolError, connect, exactly_one
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

_ACTIONS = ("list", "describe", "delete", "reset-offsets")
_TARGETS = ("to-earliest", "to-latest", "to-current", "to-offset", "to-datetime", "shift-by")


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    action = exactly_one(options, _ACTIONS)
    if action != "list" and not options.group and not options.all_groups:
        raise ToolError(f"--{action} needs --group NAME or --all-groups.")
    with connect(options) as client:
        if action == "list":
            print("".join(f"{name}\n" for name in _all(client)), end="")
            return
        for name in options.group or _all(client):
            {"describe": _describe, "delete": _delete, "reset-offsets": _reset}[action](client, name, options)


def _options() -> Options:
    made = Options("kafka-consumer-groups", "List, describe and delete groups, and set where they go on.")
    made.connecting()
    for flag in (*_ACTIONS, "all-groups", "members", "state", "offsets", "verbose", "all-topics", "execute", "dry-run"):
        made.add_argument(f"--{flag}", action="store_true")
    made.add_argument("--group", metavar="NAME", action="append")
    made.add_argument("--topic", metavar="NAME[:0,1]", action="append", default=[])
    for flag in ("to-earliest", "to-latest", "to-current"):
        made.add_argument(f"--{flag}", action="store_true")
    made.add_argument("--to-offset", metavar="N", type=int)
    made.add_argument("--shift-by", metavar="N", type=int)
    made.add_argument("--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss")
    made.add_argument("--timeout", metavar="MS", type=int, help="has no effect: answers come at once or not at all")
    return made


def _all(client: Client) -> list[str]:
    return sorted({group.group_id for node in client.nodes() for group in find_groups(node)})


def _describe(client: Client, name: str, options: argparse.Namespace) -> None:
    try:
        group = client.retrying(lambda: read_group(client, name))
    except KafkaError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        raise ToolError(f"Error: Consumer group '{name}' does not exist.") from error
    if not group.members:
        print(f"\nConsumer group '{name}' has no active members.", file=sys.stderr)
    if options.state:
        coordinator = f"{group.coordinator} ({client.node_id(group.coordinator)})"
        _table([("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"),
                (name, coordinator, group.assignor or "-", group.state, str(len(group.members)))])  # fmt: skip
    elif options.members:
        rows = [
            (name, each.member_id, f"/{each.host}", each.client_id, str(len(each.assigned))) for each in group.members
        ]
        _table([("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"), *rows])
    else:
        _table([_HEADINGS, *_offsets(client, group)])


_HEADINGS = (
    "GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID",
)  # fmt: skip


def _offsets(client: Client, group: Group) -> list[tuple[str, ...]]:
    committed = committed_offsets(client, group.name)
    members = {partition: member for member in group.members for partition in member.assigned}
    rows: list[tuple[str, ...]] = []
    everywhere = sorted(committed.keys() | members.keys())
    ends = list_offsets(client, dict.fromkeys(everywhere, LATEST))
    for partition in everywhere:
        at, end, member = committed.get(partition), ends.get(partition), members.get(partition)
        lag = "-" if at is None or end is None else str(end - at)
        who = ("-", "-", "-") if member is None else (member.member_id, f"/{member.host}", member.client_id)
        rows.append((group.name, partition.topic, str(partition.number), _or_dash(at), _or_dash(end), lag, *who))
    return rows


def _or_dash(number: int | None) -> str:
    return "-" if number is None else str(number)


def _table(rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their longest cell, and a blank line before, as Kafka's command prints them."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print()
    for row in rows:
        print(" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


def _delete(client: Client, name: str, _options: argparse.Namespace) -> None:
    request = DeleteGroupsRequest(groups_names=[name])
    for answer in client.coordinator(name).call(request, DeleteGroupsResponse).results:
        if answer.error_code:
            raise KafkaError(error_code(answer.error_code))
    print(f"Deletion of requested consumer groups ('{name}') was successful.")


def _reset(client: Client, name: str, options: argparse.Namespace) -> None:
    form = exactly_one(
        argparse.Namespace(**{each.replace("-", "_"): _asked(options, each) for each in _TARGETS}), _TARGETS
    )
    current = committed_offsets(client, name)
    partitions = sorted(current) if options.all_topics else _named(client, options.topic)
    if not partitions:
        raise ToolError("--reset-offsets needs --topic NAME or --all-topics.")
    target = _target(client, form, options, current, partitions)
    if options.execute:
        commit_offsets(client, name, target)
    _table([("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"),
            *((name, each.topic, str(each.number), str(target[each])) for each in partitions)])  # fmt: skip


def _asked(options: argparse.Namespace, name: str) -> bool:
    return getattr(options, name.replace("-", "_")) not in (None, False)


def _named(client: Client, topics: Sequence[str]) -> list[Partition]:
    found: list[Partition] = []
    for text in topics:
        name, _, numbers = text.partition(":")
        there = [each.partition_index for each in client.topic(name).partitions]
        wanted = [int(each) for each in numbers.split(",")] if numbers else there
        found += [Partition(name, number) for number in wanted]
    return sorted(found)


def _target(
    client: Client, form: str, options: argparse.Namespace, current: dict[Partition, int], partitions: list[Partition]
) -> dict[Partition, int]:
    """Where each partition goes, inside of what it has."""
    start = list_offsets(client, dict.fromkeys(partitions, EARLIEST))
    end = list_offsets(client, dict.fromkeys(partitions, LATEST))
    if form == "to-datetime":
        since = parse_when(options.to_datetime, client.clock.now_ms())
        found = list_offsets(client, dict.fromkeys(partitions, since))
        return {each: found[each] if found[each] >= 0 else end[each] for each in partitions}
    wanted = {
        "to-earliest": start,
        "to-latest": end,
        "to-current": end | current,
        "to-offset": dict.fromkeys(partitions, options.to_offset or 0),
        "shift-by": {each: current.get(each, end[each]) + (options.shift_by or 0) for each in partitions},
    }[form]
    return {each: min(max(wanted[each], start[each]), end[each]) for each in partitions}
