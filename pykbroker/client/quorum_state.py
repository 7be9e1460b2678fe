"""DescribeQuorum: the voters and observers of the metadata log, and their log end offsets."""

from __future__ import annotations

from contextlib import suppress

from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import raise_for
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


def describe_quorum(connection: BrokerConnection) -> DescribeQuorumResponse:
    """Describe the quorum. Raises the KafkaError of the response."""
    partition = DescribeQuorumRequestPartitionData(partition_index=0)
    topic = DescribeQuorumRequestTopicData(topic_name=_METADATA_LOG, partitions=[partition])
    answer = connection.call(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse)
    raise_for(answer.error_code, answer.error_message)
    found = metadata_partition(answer)
    raise_for(found.error_code, found.error_message)
    return answer


def metadata_partition(answer: DescribeQuorumResponse) -> DescribeQuorumResponsePartitionData:
    """Return the only partition of the metadata log."""
    ((found,),) = (topic.partitions for topic in answer.topics)
    return found


def read_quorum(connection: BrokerConnection) -> DescribeQuorumResponsePartitionData | None:
    """Return the state of the metadata log; None without KRaft, or without the permission to describe it."""
    with suppress(KafkaError):
        return metadata_partition(describe_quorum(connection)) if connection.supports(ApiKey.DESCRIBE_QUORUM) else None
    return None
