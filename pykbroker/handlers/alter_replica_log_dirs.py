"""AlterReplicaLogDirs (key 34, versions 1 to 2): move replicas between a broker's log directories (KIP-113).

A replica without files is created in the requested log directory. A request for the log directory where the replica is
cancels a move under way. The answer does not wait for the move. Where the directory of the copy would have a name of more
than 255 characters the answer is INVALID_TOPIC_EXCEPTION (KAFKA-4893). v2: flexible. Left out: the throttle
replica.alter.log.dirs.io.max.bytes.per.second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import in_slices
from pykbroker.storage.names import FUTURE, LONGEST, renamed
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext

#: The weight of the answer for a partition.
_WEIGHT = 0.2


def handle(
    broker: Broker, ctx: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse | Deferred[AlterReplicaLogDirsResponse]:
    return in_slices(broker, ctx, _work(broker, request))


def _work(broker: Broker, request: AlterReplicaLogDirsRequest) -> Work[AlterReplicaLogDirsResponse]:
    results: dict[str, dict[int, ErrorCode]] = {}
    for wanted in request.dirs:
        for topic in wanted.topics:
            found = results.setdefault(topic.name, {})
            for index in topic.partitions:  # a partition named for several log directories goes to the last
                found[index] = _outcome(broker, wanted.path, topic.name, index)
                yield 1
            yield 1
    response = AlterReplicaLogDirsResponse()
    for name, found in results.items():
        result = AlterReplicaLogDirTopicResult(topic_name=name)
        response.results.append(result)
        for index, code in found.items():
            result.partitions.append(AlterReplicaLogDirPartitionResult(index, code))
            yield _WEIGHT
        yield 1
    return response


def _outcome(broker: Broker, path: str, topic: str, index: int) -> ErrorCode:
    if len(renamed(f"{topic}-{index}", 0, FUTURE)) > LONGEST:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    logs = broker.logs
    contents = next((contents for contents in logs.directories.of_partitions if contents.path == path), None)
    if contents is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if contents.directory.offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if contents.directory.cordoned:
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    partition = broker.partition(topic, index)
    if partition is None and broker.absent(topic, index) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if partition is None or broker.node_id not in partition.replicas:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    moves = broker.log_moves
    if not logs.directories.place_in(contents, (topic, index)) or moves.under_way(partition):
        moves.want(partition, contents)
    return ErrorCode.NONE
