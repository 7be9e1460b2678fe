"""DescribeLogDirs (key 35), versions 1 to 5 (KIP-113): the log directories, their space, and the size of each log in them.

Left out: future replicas (moving a log between them).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.security.context import RequestContext
    from pykbroker.storage.directories.manager import LogManager
    from pykbroker.storage.directory import LogDirectory
    from pykbroker.wire.messages.describe_log_dirs import DescribeLogDirsRequest


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse | Deferred[DescribeLogDirsResponse]:
    wanted = [partition for partition in _wanted(broker, request) if broker.node_id in partition.replicas]
    return broker.cluster.runtime.offload_read(_describe, broker.cluster.logs, wanted)


def _describe(logs: LogManager, wanted: list[Partition]) -> DescribeLogDirsResponse:
    """Asks the disk: for a thread. A log that nobody has opened stays closed, its directory tells its size."""
    results = {contents.directory: _described(contents.directory) for contents in logs.directories.of_partitions}
    topics: dict[tuple[LogDirectory, str], DescribeLogDirsTopic] = {}
    for partition in wanted:
        found = _found(logs, partition)
        if found is None or results[found[0]].error_code:
            continue
        directory, size = found
        topic = topics.get((directory, partition.topic))
        if topic is None:
            topic = topics[directory, partition.topic] = DescribeLogDirsTopic(name=partition.topic)
            results[directory].topics.append(topic)
        topic.partitions.append(
            DescribeLogDirsPartition(partition_index=partition.index, partition_size=size, offset_lag=0)
        )
    return DescribeLogDirsResponse(results=list(results.values()))


def _described(directory: LogDirectory) -> DescribeLogDirsResult:
    """A log directory and its space; one whose space cannot be told, since it is gone, is offline from now on."""
    result = DescribeLogDirsResult(log_dir=directory.path)
    try:
        directory.check()
        result.total_bytes, result.usable_bytes = directory.disk.free_bytes(directory.path)
    except OSError as error:
        result.error_code = directory.failed(error, "looking for free space").code
    except KafkaError as error:
        result.error_code = error.code
    return result


def _found(logs: LogManager, partition: Partition) -> tuple[LogDirectory, int] | None:
    """Where a partition lies and how large it is; None where its log directory is offline."""
    try:
        return logs.size_of(partition.topic, partition.index)
    except KafkaError:
        return None


def _wanted(broker: Broker, request: DescribeLogDirsRequest) -> list[Partition]:
    """The partitions asked for; all of them for null. Those that do not exist are left out of the answer."""
    cluster = broker.cluster
    if request.topics is None:
        return list(cluster.partitions())
    found = (cluster.partition(topic.topic, index) for topic in request.topics for index in topic.partitions)
    return [partition for partition in found if partition is not None]
