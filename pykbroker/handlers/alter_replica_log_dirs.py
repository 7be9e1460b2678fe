"""AlterReplicaLogDirs (key 34, versions 1 to 2): move replicas between a broker's log directories (KIP-113).

A replica that has no files yet will get them in the directory asked for; to ask for the one where it lies already changes
nothing, but for calling off a move. The answer does not wait for the files to have moved. v2: flexible. Left out: what
replica.alter.log.dirs.io.max.bytes.per.second bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext


def handle(broker: Broker, ctx: RequestContext, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    results: dict[str, dict[int, ErrorCode]] = {}
    for wanted in request.dirs:
        for topic in wanted.topics:
            found = results.setdefault(topic.name, {})
            for index in topic.partitions:  # named for several directories, a partition goes into the last
                found[index] = _outcome(broker, wanted.path, topic.name, index)
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=[AlterReplicaLogDirPartitionResult(index, code) for index, code in found.items()],
            )
            for name, found in results.items()
        ]
    )


def _outcome(broker: Broker, path: str, topic: str, index: int) -> ErrorCode:
    logs = broker.cluster.logs
    contents = next((contents for contents in logs.directories.of_partitions if contents.path == path), None)
    if contents is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if contents.directory.offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    partition = broker.cluster.partition(topic, index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker.node_id not in partition.replicas:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    moves = broker.cluster.log_moves
    if not logs.directories.place_in(contents, (topic, index)) or moves.under_way(partition):
        moves.want(partition, contents)
    return ErrorCode.NONE
