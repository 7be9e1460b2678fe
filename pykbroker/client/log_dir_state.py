"""DescribeLogDirs: the log directories of brokers and the replicas in them."""

from __future__ import annotations

from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import raise_for
from pykbroker.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)


def describe_log_dirs(
    connection: BrokerConnection, wanted: list[DescribableLogDirTopic] | None = None
) -> list[DescribeLogDirsResult]:
    """Describe the log directories of this broker, with the partitions wanted (None: all).

    Raises the KafkaError of the response.
    """
    answer = connection.call(DescribeLogDirsRequest(topics=wanted), DescribeLogDirsResponse)
    raise_for(answer.error_code)
    return answer.results
