"""What the controllers say of the metadata log: who keeps it, and how far each has it."""

from __future__ import annotations

from contextlib import suppress

from pykbroker.cli.client import raise_for
from pykbroker.cli.connection import Connection
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
)

_METADATA_LOG = "__cluster_metadata"


def ask_quorum(connection: Connection) -> DescribeQuorumResponse:
    """Raises the answer's KafkaError."""
    partition = DescribeQuorumRequestPartitionData(partition_index=0)
    topic = DescribeQuorumRequestTopicData(topic_name=_METADATA_LOG, partitions=[partition])
    answer = connection.call(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse)
    raise_for(answer.error_code, answer.error_message)
    found = metadata_partition(answer)
    raise_for(found.error_code, found.error_message)
    return answer


def metadata_partition(answer: DescribeQuorumResponse) -> DescribeQuorumResponsePartitionData:
    """The metadata log has one."""
    ((found,),) = (topic.partitions for topic in answer.topics)
    return found


def read_quorum(connection: Connection) -> DescribeQuorumResponsePartitionData | None:
    """The state of the metadata log; None where there is no KRaft or we may not see it."""
    with suppress(KafkaError):
        return metadata_partition(ask_quorum(connection)) if connection.supports(ApiKey.DESCRIBE_QUORUM) else None
    return None
