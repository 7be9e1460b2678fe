"""``kafka-metadata-quorum``: voters and observers of the metadata log, and their lag."""

from __future__ import annotations

from collections.abc import Iterable

from pykbroker.client.client import Client
from pykbroker.client.quorum_state import describe_quorum, metadata_partition
from pykbroker.container.tools.columns import print_columns
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, ToolError, connect
from pykbroker.wire.messages.describe_quorum import (
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    Node,
    ReplicaState,
)
from pykbroker.wire.primitives import uuid_to_str

_NO_DIRECTORY = bytes(16)
_HEADINGS = (
    "NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status",
)  # fmt: skip


def main(words: list[str]) -> None:
    made = Options("kafka-metadata-quorum", "Say who keeps the metadata log, and how far each has it.")
    made.connecting(also=())
    describe = made.commands().add_parser("describe", description="Describe the quorum.")
    describe.flags("status", "replication", "human-readable")
    options = made.parse_args(words)
    if options.status and options.replication:
        raise ToolError("Only one of --status or --replication should be specified with describe sub-command")
    if not options.status and not options.replication:
        raise ToolError("One of --status or --replication must be specified with describe sub-command")
    if options.status and options.human_readable:
        raise ToolError("The option --human-readable is only supported along with --replication")
    with connect(options) as client:
        if options.status:
            _status(client)
        else:
            _replication(client, human=options.human_readable)


def _status(client: Client) -> None:
    cluster = client.metadata([]).cluster_id
    answer = describe_quorum(client.any())
    found = metadata_partition(answer)
    leader = _leader(found)
    last = min(found.current_voters, key=lambda voter: voter.log_end_offset)
    for name, value in (
        ("ClusterId", cluster),
        ("LeaderId", found.leader_id),
        ("LeaderEpoch", found.leader_epoch),
        ("HighWatermark", found.high_watermark),
        ("MaxFollowerLag", leader.log_end_offset - last.log_end_offset),
        ("MaxFollowerLagTimeMs", _behind_ms(leader, last)),
        ("CurrentVoters", _listed(answer, found.current_voters)),
        ("CurrentObservers", _listed(answer, found.observers)),
    ):
        print_lines(f"{name + ':':<23} {value}")


def _leader(found: DescribeQuorumResponsePartitionData) -> ReplicaState:
    for voter in found.current_voters:
        if voter.replica_id == found.leader_id:
            return voter
    raise ToolError("The quorum has no leader at the moment.")


def _behind_ms(leader: ReplicaState, last: ReplicaState) -> int:
    if last is leader:
        return 0
    if leader.last_caught_up_timestamp < 0 or last.last_caught_up_timestamp < 0:
        return -1
    return leader.last_caught_up_timestamp - last.last_caught_up_timestamp


def _listed(answer: DescribeQuorumResponse, replicas: Iterable[ReplicaState]) -> str:
    nodes = {node.node_id: node for node in answer.nodes}
    return f"[{', '.join(_formatted(replica, nodes.get(replica.replica_id)) for replica in replicas)}]"


def _formatted(replica: ReplicaState, node: Node | None) -> str:
    parts = [f'"id": {replica.replica_id}']
    if replica.replica_directory_id != _NO_DIRECTORY:
        parts.append(f'"directoryId": "{_directory(replica)}"')
    if node is not None and node.listeners:
        places = ", ".join(
            f'"{each.name}://{f"[{each.host}]" if ":" in each.host else each.host}:{each.port}"'
            for each in node.listeners
        )
        parts.append(f'"endpoints": [{places}]')
    return f"{{{', '.join(parts)}}}"


def _directory(replica: ReplicaState) -> str:
    return uuid_to_str(replica.replica_directory_id)


def _replication(client: Client, *, human: bool) -> None:
    found = metadata_partition(describe_quorum(client.any()))
    leader = _leader(found)
    now_ms = client.clock.now_ms()
    followers = [voter for voter in found.current_voters if voter is not leader]
    rows = [
        (
            replica.replica_id,
            _directory(replica),
            replica.log_end_offset,
            leader.log_end_offset - replica.log_end_offset,
            _time(replica.last_fetch_timestamp, now_ms if human else None),
            _time(replica.last_caught_up_timestamp, now_ms if human else None),
            status,
        )
        for status, replicas in (("Leader", [leader]), ("Follower", followers), ("Observer", found.observers))
        for replica in replicas
    ]
    print_columns(_HEADINGS, rows)


def _time(timestamp: int, now_ms: int | None) -> str:
    return str(timestamp) if now_ms is None or timestamp < 0 else f"{max(now_ms - timestamp, 0)} ms ago"
