"""``pykbroker cluster quorum``: voters and observers of the metadata log (KRaft), and their lag."""

from __future__ import annotations

from typing import Any

from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.times import format_ms
from pykbroker.client.errors import ClientError
from pykbroker.client.quorum_state import describe_quorum, metadata_partition
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.describe_quorum import DescribeQuorumResponsePartitionData, ReplicaState


@with_option_values
def quorum(
    *,
    at: ConnectionOptions,
    as_json: Json = False,
) -> None:
    """Show the voters and observers of the metadata log, and how far behind its end each is."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        connection = client.any()
        if not connection.supports(ApiKey.DESCRIBE_QUORUM):
            raise ClientError(f"{connection.address} has no KRaft quorum, so its metadata is elsewhere.")
        found = metadata_partition(describe_quorum(connection))
    end = max((replica.log_end_offset for replica in found.current_voters), default=-1)
    rows = [_row(replica, "voter", found, end) for replica in found.current_voters]
    rows += [_row(replica, "observer", found, end) for replica in found.observers]
    if as_json:
        out.json(
            {
                "leader": found.leader_id,
                "leader_epoch": found.leader_epoch,
                "high_watermark": found.high_watermark,
                "replicas": rows,
            }
        )
        return
    columns = {"node": "NODE", "role": "ROLE", "end": "END", "lag": "LAG", "caught_up": "CAUGHT UP"}
    title = f"Metadata log: leader {found.leader_id}, epoch {found.leader_epoch}, high watermark {found.high_watermark}"
    out.table(columns, rows, title=title)


def _row(replica: ReplicaState, role: str, found: DescribeQuorumResponsePartitionData, end: int) -> dict[str, Any]:
    return {
        "node": replica.replica_id,
        "role": "leader" if replica.replica_id == found.leader_id else role,
        "end": replica.log_end_offset,
        "lag": None if replica.log_end_offset < 0 else end - replica.log_end_offset,
        "caught_up": None if replica.last_caught_up_timestamp < 0 else format_ms(replica.last_caught_up_timestamp),
    }
