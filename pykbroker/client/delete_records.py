"""DeleteRecords: moves the log start offset of a partition forward."""

from __future__ import annotations

from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.client.offsets import TopicPartition
from pykbroker.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)


def delete_before(client: Client, partition: TopicPartition, offset: int) -> int:
    """Delete records before ``offset`` and return the new log start offset. Raises the KafkaError of the response."""
    wanted = DeleteRecordsTopic(
        name=partition.topic, partitions=[DeleteRecordsPartition(partition_index=partition.number, offset=offset)]
    )
    request = DeleteRecordsRequest(topics=[wanted], timeout_ms=int(client.timeout_s * 1000))
    answer = client.leader(*partition).call(request, DeleteRecordsResponse)
    ((result,),) = (topic.partitions for topic in answer.topics)
    raise_for(result.error_code)
    return result.low_watermark
