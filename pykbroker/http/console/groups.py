"""Groups: list, details with members, offsets and lag, and operations on them."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.errors import raise_for
from pykbroker.http.console import search_offsets, share_offsets
from pykbroker.http.console.members import SHARE, ConsoleMember, members_of
from pykbroker.security.operations import DESCRIBE
from pykbroker.security.resources import GROUP
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console
    from pykbroker.http.console.in_process_client import InProcessClient
    from pykbroker.http.turn import Turn
    from pykbroker.wire.messages.list_groups import ListedGroup

_MOST_ROWS: Final = 200
_MOST_OFFSETS: Final = 500
_NAME: Final = 32 * 1024
_UNCOMMITTED: Final = 0
#: Partitions that are asked for their end offsets by one request.
_ENDS_AT_ONCE: Final = 200
#: The last versions with topic names.
_FETCH_VERSION, _COMMIT_VERSION = 9, 9
_TOPIC: Final = 249


async def listed(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a page of groups by name."""
    start, limit = call.whole("start", 0), call.whole("limit", 50, least=1, most=_MOST_ROWS)
    match = call.text("match", "", most=_TOPIC).lower()
    everything = console.turn().each(await _all(console.brokers))
    found = [each async for each in everything if match in each.group_id.lower()]
    found.sort(key=attrgetter("group_id"))
    rows = [
        {"group": each.group_id, "state": each.group_state, "type": each.group_type, "protocol": each.protocol_type}
        for each in found[start : start + limit]
    ]
    limits = console.brokers.principal.limits(DESCRIBE, GROUP)
    return {"total": len(found), "start": start, "groups": rows, "limits": limits}


async def _all(brokers: InProcessClient) -> list[ListedGroup]:
    found: list[ListedGroup] = []
    for node_id in brokers.running():
        answer = await brokers.ask(ListGroupsRequest(states_filter=[], types_filter=[]), 5, node_id)
        raise_for(answer.error_code)
        found += answer.groups
    return found


async def one(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a group with its members, and a page of its partitions with committed offset and lag."""
    name = call.text("group", most=_NAME)
    start, limit = call.whole("start", 0), call.whole("limit", 100, least=1, most=_MOST_OFFSETS)
    brokers, turn = console.brokers, console.turn()
    coordinator = await brokers.coordinator(name)
    group = await members_of(brokers, coordinator, name, turn)
    if group.kind == SHARE:
        committed, lags = await share_offsets.described(brokers, coordinator, name, turn)
    else:
        committed, lags = await _committed(brokers, coordinator, name, turn), {}
    owners: dict[tuple[str, int], ConsoleMember] = {}
    async for member in turn.each(group.members):
        owners.update(dict.fromkeys(member.partitions, member))
    everywhere = sorted(committed.keys() | owners.keys())
    ends = await _ends(brokers, everywhere, turn)
    rows, lag = [], 0
    async for partition in turn.each(everywhere):
        row = _row(partition, committed, ends, owners, lags)
        lag += row["lag"] or 0
        rows.append(row)
    return {
        "group": name,
        "state": group.state,
        "type": group.kind,
        "assignor": group.assignor,
        "coordinator": coordinator,
        "lag": lag,
        "total": len(rows),
        "start": start,
        "members": [member.as_json() for member in group.members[:_MOST_ROWS]],
        "members_in_all": len(group.members),
        "offsets": rows[start : start + limit],
    }


def _row(
    partition: tuple[str, int],
    committed: dict[tuple[str, int], int],
    ends: dict[tuple[str, int], int],
    owners: dict[tuple[str, int], ConsoleMember],
    lags: dict[tuple[str, int], int],
) -> dict[str, Any]:
    """Return a partition with its lag: the coordinator's if it has said one, else that of the committed offset."""
    offset, end, owner = committed.get(partition), ends.get(partition), owners.get(partition)
    lag = None if offset is None or end is None else max(end - offset, 0)
    return {
        "topic": partition[0],
        "partition": partition[1],
        "committed": offset,
        "end": end,
        "lag": lags.get(partition, lag),
        "member": None if owner is None else owner.client_id or owner.member_id,
    }


async def _committed(brokers: InProcessClient, coordinator: int, name: str, turn: Turn) -> dict[tuple[str, int], int]:
    asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(name, topics=None)])
    (found,) = (await brokers.ask(asked, _FETCH_VERSION, coordinator)).groups
    raise_for(found.error_code)
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in found.topics
        async for each in turn.each(topic.partitions)
        if not each.error_code and each.committed_offset >= 0
    }


async def _ends(brokers: InProcessClient, partitions: list[tuple[str, int]], turn: Turn) -> dict[tuple[str, int], int]:
    """Return end offsets; deleted partitions and those without a leader have none."""
    wanted: dict[str, list[int]] = {}
    async for topic, index in turn.each(partitions):
        if brokers.cluster().partition(topic, index) is not None and brokers.sees(topic):
            wanted.setdefault(topic, []).append(index)
    found: dict[tuple[str, int], int] = {}
    for topic, indexes in wanted.items():
        for begin in range(0, len(indexes), _ENDS_AT_ONCE):
            some = dict.fromkeys(indexes[begin : begin + _ENDS_AT_ONCE], search_offsets.LATEST)
            try:
                ends = await search_offsets.offsets(brokers, topic, some, _UNCOMMITTED)
            except KafkaError as error:
                if not error.code.retriable:
                    raise
                continue
            found |= {(topic, index): end for index, end in ends.items()}
    return found


async def delete(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Delete a group without members."""
    name = call.text("group", most=_NAME)
    coordinator = await console.brokers.coordinator(name)
    (result,) = (await console.brokers.ask(DeleteGroupsRequest([name]), 2, coordinator)).results
    raise_for(result.error_code)
    return {}


async def reset(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Commit offsets of one topic for a group without members. ``to`` is earliest, latest, a time, or an offset."""
    name, topic, to = call.text("group", most=_NAME), call.text("topic", most=_TOPIC), call.text("to", most=20)
    image = console.brokers.cluster().metadata.image.topics.get(topic) if console.brokers.sees(topic) else None
    if image is None:
        raise VerbRefused(404, f"there is no topic {topic}")
    indexes = search_offsets.chosen(call.text("partitions", "", most=1000), len(image.partitions))
    wanted = await _targets(console.brokers, topic, indexes, to, call)
    commits = [OffsetCommitRequestPartition(index, offset) for index, offset in wanted.items()]
    coordinator = await console.brokers.coordinator(name)
    if (await members_of(console.brokers, coordinator, name, console.turn())).kind == SHARE:
        await share_offsets.altered(console.brokers, coordinator, name, topic, wanted)
        return {"offsets": wanted}
    asked = OffsetCommitRequest(group_id=name, topics=[OffsetCommitRequestTopic(topic, partitions=commits)])
    answer = await console.brokers.ask(asked, _COMMIT_VERSION, coordinator)
    for each in answer.topics[0].partitions:
        if each.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
            raise VerbRefused(409, "the group has members, and only they commit: stop the consumers first")
        raise_for(each.error_code)
    return {"offsets": wanted}


async def _targets(
    brokers: InProcessClient, topic: str, indexes: list[int], to: str, call: ConsoleCall
) -> dict[int, int]:
    """Return partition to offset, clamped to the partition's log."""
    lows = await search_offsets.offsets(brokers, topic, dict.fromkeys(indexes, search_offsets.EARLIEST), _UNCOMMITTED)
    ends = await search_offsets.offsets(brokers, topic, dict.fromkeys(indexes, search_offsets.LATEST), _UNCOMMITTED)
    if to == "earliest":
        return lows
    if to == "latest":
        return ends
    if to == "time":
        found = await search_offsets.offsets(brokers, topic, dict.fromkeys(indexes, call.whole("time")), _UNCOMMITTED)
        return {index: offset if offset >= 0 else ends[index] for index, offset in found.items()}
    if to == "offset":
        offset = call.whole("offset")
        return {index: min(max(offset, lows[index]), ends[index]) for index in lows}
    raise VerbRefused(400, "'to' is earliest, latest, time or offset")
