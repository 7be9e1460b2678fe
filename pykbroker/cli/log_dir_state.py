"""Which log directories brokers have, and what is in them."""

from __future__ import annotations

from pykbroker.cli.client import raise_for
from pykbroker.cli.connection import Connection
from pykbroker.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)


def describe_log_dirs(
    connection: Connection, wanted: list[DescribableLogDirTopic] | None = None
) -> list[DescribeLogDirsResult]:
    """Those of this broker, with the partitions that are wanted (None: all). Raises the answer's KafkaError."""
    answer = connection.call(DescribeLogDirsRequest(topics=wanted), DescribeLogDirsResponse)
    raise_for(answer.error_code)
    return answer.results
