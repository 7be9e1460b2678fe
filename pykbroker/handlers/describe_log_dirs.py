"""DescribeLogDirs (key 35), versions 1 to 5 (KIP-113): the log directories, their space, and the size of each log in them.

Left out: future replicas. A replica that moves between log directories is listed where it is until the move ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import in_slices
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext
    from pykbroker.storage.directories.manager import LogManager
    from pykbroker.storage.directory import LogDirectory
    from pykbroker.wire.messages.describe_log_dirs import DescribeLogDirsRequest

#: The weight of looking up a partition.
_WEIGHT = 0.2


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse | Deferred[DescribeLogDirsResponse]:
    return in_slices(broker, ctx, _work(broker, request))


def _work(broker: Broker, request: DescribeLogDirsRequest) -> Work[DescribeLogDirsResponse]:
    wanted: dict[Partition, None] = {}  # each once
    for partition in _wanted(broker, request):
        if partition is not None and broker.node_id in partition.replicas:
            wanted[partition] = None
        yield _WEIGHT
    described: Deferred[DescribeLogDirsResponse] = broker.runtime.offload_read(_describe, broker.logs, list(wanted))
    return described


def failed(request: DescribeLogDirsRequest, version: int, error: KafkaError) -> DescribeLogDirsResponse:
    """The request as a whole is refused; before version 3 the answer has no field for the error and is empty."""
    del request, version
    return DescribeLogDirsResponse(error_code=error.code)


def _describe(logs: LogManager, wanted: list[Partition]) -> DescribeLogDirsResponse:
    """Build the response in a thread, since it reads the disk. A closed log stays closed: its directory gives its size."""
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
    """A log directory with its total and usable bytes. If these cannot be read, the log directory goes offline."""
    result = DescribeLogDirsResult(log_dir=directory.path, is_cordoned=directory.cordoned)
    try:
        directory.check()
        result.total_bytes, result.usable_bytes = directory.disk.free_bytes(directory.path)
    except OSError as error:
        result.error_code = directory.failed(error, "reading free space").code
    except KafkaError as error:
        result.error_code = error.code
    return result


def _found(logs: LogManager, partition: Partition) -> tuple[LogDirectory, int] | None:
    """The partition's log directory and its size in bytes; None if the log directory is offline."""
    try:
        return logs.size_of(partition.topic, partition.index)
    except KafkaError:
        return None


def _wanted(broker: Broker, request: DescribeLogDirsRequest) -> Iterator[Partition | None]:
    """The requested partitions, None for one that does not exist; all partitions for null."""
    if request.topics is None:
        yield from list(broker.partitions())
    for topic in request.topics or ():
        for index in topic.partitions:
            yield broker.partition(topic.topic, index)
