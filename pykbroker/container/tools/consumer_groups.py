"""``kafka-consumer-groups``: list, describe and delete groups, reset and delete their offsets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.group_state import STREAMS, GroupDescription, find_groups, kind_of, read_group
from pykbroker.client.offsets import LATEST, committed_offsets, list_offsets
from pykbroker.container.tools import group_offsets
from pykbroker.container.tools.columns import print_spaced
from pykbroker.container.tools.printing import print_error, print_lines
from pykbroker.container.tools.running import Options, ToolError, connect, exactly_one
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

_ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
_STATES: Final = (
    *("Stable", "PreparingRebalance", "Reconciling", "CompletingRebalance", "Empty", "Assigning", "Dead"),
)
_TYPES: Final = ("Classic", "Consumer")


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    action = exactly_one(options, _ACTIONS)
    if action != "list" and not options.group and not options.all_groups:
        raise ToolError(f"--{action} needs --group NAME or --all-groups.")
    with connect(options) as client:
        if action == "list":
            _list(client, options)
            return
        names = options.group or _all(client)
        if action == "reset-offsets":
            group_offsets.reset(client, names, options)
            return
        act = {"describe": _describe, "delete": _delete, "delete-offsets": group_offsets.delete}[action]
        for name in names:
            act(client, name, options)


def _options() -> Options:
    made = Options("kafka-consumer-groups", "List, describe and delete groups, and set where they go on.")
    made.connecting()
    made.flags(*_ACTIONS, "all-groups", "members", "offsets", "verbose", "all-topics", "execute", "dry-run", "export")
    made.add_argument(
        "--state", metavar="STATE,...", nargs="?", const="", help="show it; with --list those in it alone"
    )
    made.add_argument("--type", metavar="TYPE,...", nargs="?", const="", help="the same of types, with --list")
    made.add_argument("--group", metavar="NAME", action="append")
    made.add_argument("--topic", metavar="NAME[:0,1]", action="append", default=[])
    group_offsets.add_options(made)
    made.add_argument("--timeout", metavar="MS", type=int, help="has no effect: answers come at once or not at all")
    return made


def _all(client: Client) -> list[str]:
    return sorted({group.group_id for node in client.nodes() for group in find_groups(node)})


def _list(client: Client, options: argparse.Namespace) -> None:
    """Print group names, with their types and states on request."""
    states, types = _named("state", options.state, _STATES), _named("type", options.type, _TYPES)
    groups = {group.group_id: group for node in client.nodes() for group in find_groups(node)}
    if states is None and types is None:
        for name in sorted(groups):
            print_lines(name)
        return
    rows = [
        (name, *([kind_of(group)] if types is not None else []), *([group.group_state] if states is not None else []))
        for name, group in sorted(groups.items())
        if (not states or group.group_state in states) and (not types or kind_of(group) in types)
    ]
    print_spaced(
        [("GROUP", *(["TYPE"] if types is not None else []), *(["STATE"] if states is not None else [])), *rows]
    )


def _named(what: str, text: str | None, known: Sequence[str]) -> set[str] | None:
    """Return the items of a comma-separated list, in any case; None for no filter. Raises ToolError."""
    if text is None:
        return None
    spelt = {name.lower(): name for name in known}
    asked = {word.strip().lower() for word in text.split(",") if word.strip()}
    if not asked <= spelt.keys():
        raise ToolError(f"Invalid {what} list '{text}'. Valid {what}s are: {', '.join(known)}")
    return {spelt[word] for word in asked}


def _describe(client: Client, name: str, options: argparse.Namespace) -> None:
    try:
        group = client.retrying(lambda: read_group(client, name))
    except KafkaError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        raise ToolError(f"Error: Consumer group '{name}' does not exist.") from error
    if group.kind == STREAMS:
        raise ToolError(f"Error: Consumer group '{name}' does not exist.")
    if not group.members:
        print_error("")
        print_error(f"Consumer group '{name}' has no active members.")
    if options.state is not None:
        coordinator = f"{group.coordinator} ({client.node_id(group.coordinator)})"
        print_spaced([("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"),
                      (name, coordinator, group.assignor or "-", group.state, str(len(group.members)))])  # fmt: skip
    elif options.members:
        rows = [
            (name, each.member_id, f"/{each.host}", each.client_id, str(len(each.assigned))) for each in group.members
        ]
        print_spaced([("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"), *rows])
    else:
        print_spaced([_HEADINGS, *_offsets(client, group)])


_HEADINGS = (
    "GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID",
)  # fmt: skip


def _offsets(client: Client, group: GroupDescription) -> list[tuple[str, ...]]:
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


def _delete(client: Client, name: str, _options: argparse.Namespace) -> None:
    request = DeleteGroupsRequest(groups_names=[name])
    for answer in client.coordinator(name).call(request, DeleteGroupsResponse).results:
        if answer.error_code:
            raise KafkaError(error_code(answer.error_code))
    print_lines(f"Deletion of requested consumer groups ('{name}') was successful.")
