"""``pykbroker groups``: list, describe, reset and delete groups of every type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer

from pykbroker.cli.completion import group_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output, counted
from pykbroker.cli.reset import reset
from pykbroker.cli.topics import confirm, report
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, UsageError, refusal
from pykbroker.client.group_state import SHARE, GroupDescription, find_groups, kind_of, read_group
from pykbroker.client.offsets import TopicPartition, committed_offsets, existing_ends
from pykbroker.client.share_offsets import share_offsets
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

app = typer.Typer(
    help="List, describe, reset and delete groups: consumers, share groups, streams.", no_args_is_help=True
)
app.command("reset")(reset)

Names = Annotated[list[str], typer.Argument(metavar="GROUP", autocompletion=group_names, help="One group or several.")]


#: Kafka's names, of the states of groups of every type, and of the types.
_STATES = (
    *("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty"),
    *("Assigning", "Reconciling", "NotReady"),
)
_KINDS = ("classic", "consumer", "share", "streams")


def _known(option: str, given: list[str] | None, names: Sequence[str]) -> set[str]:
    """What is given, in small letters. Raises UsageError for what is none of the names."""
    small = {name.lower() for name in given or []}
    if small - {name.lower() for name in names}:
        raise UsageError(f"{option} takes {', '.join(names[:-1])} or {names[-1]}.")
    return small


@app.command("list")
@with_option_values
def list_groups(
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help="Only groups in this state, as Stable or Empty."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Only groups of this type: classic, consumer, share or streams."),
    ] = None,
) -> None:
    """List groups with their state."""
    out = Output(as_json=as_json)
    wanted, kinds = _known("--state", state, _STATES), _known("--type", kind, _KINDS)
    with at.connect() as client:
        found = [group for node in client.nodes() for group in client.retrying(partial(find_groups, node))]
    rows = [
        {"group": g.group_id, "type": kind_of(g), "state": g.group_state, "protocol": g.protocol_type}
        for g in sorted(found, key=lambda g: g.group_id)
        if (not wanted or g.group_state.lower() in wanted) and (not kinds or kind_of(g).lower() in kinds)
    ]
    if as_json:
        out.json(rows)
    elif rows:
        out.table({"group": "GROUP", "type": "TYPE", "state": "STATE", "protocol": "PROTOCOL"}, rows)
    else:
        out.remark("There are no such groups." if wanted or kinds else "There are no groups.")


@app.command()
@with_option_values
def describe(
    names: Names,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
) -> None:
    """Show members, and for each partition committed offset (of share groups: start offset), end offset and lag."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        described = [_describe(client, name) for name in names]
    if as_json:
        out.json(described)
        return
    for group in described:
        _print_description(out, group)


def _describe(client: Client, name: str) -> dict[str, Any]:
    try:
        group = client.retrying(lambda: read_group(client, name))
        rows = _of_share_group(client, group) if group.kind == SHARE else _committed(client, group)
    except KafkaError as error:
        raise ClientError(refusal(f"Group {name}", error)) from error
    return _as_row(group) | {"offsets": rows}


def _committed(client: Client, group: GroupDescription) -> list[dict[str, Any]]:
    offsets, owners = committed_offsets(client, group.name), group.owners()
    everywhere = sorted(offsets.keys() | owners.keys())
    ends = existing_ends(client, everywhere)
    rows = []
    for partition in everywhere:
        committed, end = offsets.get(partition), ends.get(partition)
        lag = end - committed if committed is not None and end is not None else None
        rows.append(_row(partition, owners, {"committed": committed}, end, lag))
    return rows


def _of_share_group(client: Client, group: GroupDescription) -> list[dict[str, Any]]:
    offsets, owners = share_offsets(client, group.name), group.owners()
    everywhere = sorted(offsets.keys() | owners.keys())
    ends = existing_ends(client, everywhere)
    rows = []
    for partition in everywhere:
        known = offsets.get(partition)
        start, lag = (None, None) if known is None else known
        rows.append(_row(partition, owners, {"start": start}, ends.get(partition), lag))
    return rows


def _row(
    partition: TopicPartition,
    owners: dict[TopicPartition, str],
    offset: dict[str, int | None],
    end: int | None,
    lag: int | None,
) -> dict[str, Any]:
    where = {"topic": partition.topic, "partition": partition.number}
    return where | offset | {"end": end, "lag": lag, "member": owners.get(partition)}


def _as_row(group: GroupDescription) -> dict[str, Any]:
    return {
        "group": group.name,
        "type": group.kind,
        "state": group.state,
        "assignor": group.assignor or None,
        "coordinator": group.coordinator,
        "members": [
            {
                "member": member.member_id,
                "instance": member.instance_id,
                "client": member.client_id,
                "host": member.host,
                "assigned": [str(partition) for partition in member.assigned],
            }
            for member in group.members
        ],
    }


def _lag(offsets: list[dict[str, Any]]) -> str:
    """Return the total lag in words; it is unknown for partitions without a commit or without a topic."""
    if all(row.get("committed", row.get("start")) is None for row in offsets):
        return "lag unknown as it has committed nothing"
    known = [row["lag"] for row in offsets if row["lag"] is not None]
    unknown = len(offsets) - len(known)
    if not known:
        return "lag unknown"
    return f"lag {sum(known)}" + (f" and unknown of {counted(unknown, 'partition')}" if unknown else "")


def _print_description(out: Output, group: dict[str, Any]) -> None:
    offsets, members = group["offsets"], group["members"]
    title = (
        f"{group['group']}  {group['state']}, {counted(len(members), 'member')}, {_lag(offsets)}, "
        f"coordinator {group['coordinator']}"
    )
    if offsets:
        columns = {
            "topic": "TOPIC",
            "partition": "PARTITION",
            **({"start": "START"} if "start" in offsets[0] else {"committed": "COMMITTED"}),
            "end": "END",
            "lag": "LAG",
            "member": "MEMBER",
        }
        out.table(columns, offsets, title=title)
    else:
        out.line(title)
    if members:
        columns = {"member": "MEMBER", "client": "CLIENT", "host": "HOST", "assigned": "ASSIGNED"}
        out.table(columns, members)
    out.line("")


@app.command()
@with_option_values
def delete(
    names: Names,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete groups without members, and their offsets."""
    out = Output(as_json=as_json)
    confirm(out, f"Delete {', '.join(names)} with their committed offsets?", yes=yes)
    results: list[tuple[str, int, str | None, str]] = []
    with at.connect() as client:
        for name in names:  # each group has its own coordinator
            answer = client.coordinator(name).call(DeleteGroupsRequest(groups_names=[name]), DeleteGroupsResponse)
            results += [(item.group_id, item.error_code, None, "deleted") for item in answer.results]
    report(out, results, {ErrorCode.NONE}, what="Group")
