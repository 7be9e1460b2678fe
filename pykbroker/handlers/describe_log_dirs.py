"""DescribeLogDirs (key 35), versions 1 to 5 (KIP-113): the data folder, its space, and the size of each log in it.

Left out: future replicas (moving a log between folders) and several log directories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.errors import ErrorCode
from wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from pykbroker.broker import Broker
    from pykbroker.context import RequestContext
    from pykbroker.partition import Partition
    from wire.messages.describe_log_dirs import DescribeLogDirsRequest


def handle(broker: Broker, ctx: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    home = broker.cluster.logs.home
    result = DescribeLogDirsResult(log_dir=home.path)
    if home.offline:
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return DescribeLogDirsResponse(results=[result])
    result.total_bytes, result.usable_bytes = home.disk.free_bytes(home.path)
    topics: dict[str, DescribeLogDirsTopic] = {}
    for partition in _wanted(broker, request):
        if broker.node_id not in partition.replicas:
            continue
        topic = topics.get(partition.topic)
        if topic is None:
            topic = topics[partition.topic] = DescribeLogDirsTopic(name=partition.topic)
        size = partition.log.size_bytes
        topic.partitions.append(
            DescribeLogDirsPartition(partition_index=partition.index, partition_size=size, offset_lag=0)
        )
    result.topics = list(topics.values())
    return DescribeLogDirsResponse(results=[result])


def _wanted(broker: Broker, request: DescribeLogDirsRequest) -> list[Partition]:
    """The partitions asked for; all of them for null. Those that do not exist are left out of the answer."""
    cluster = broker.cluster
    if request.topics is None:
        return list(cluster.partitions())
    found = (cluster.partition(topic.topic, index) for topic in request.topics for index in topic.partitions)
    return [partition for partition in found if partition is not None]
