"""The end of a partition that a broker in another process leads, asked for by ListOffsets, as Apache Kafka's coordinators do for lags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pykbroker.brokers.remote_peers import the_only
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

if TYPE_CHECKING:
    from pykbroker.brokers.replica_fetcher import Peers
    from pykbroker.runtime.waits import Deferred

_SINCE: Final = 1
_CONSUMER: Final = -1
_LATEST: Final = -1


def latest_offset(peers: Peers, leader: int, topic: str, index: int) -> Deferred[int]:
    """The high watermark. Fails with KafkaError NETWORK_EXCEPTION without an answer, or with the error that is answered."""
    asked = ListOffsetsTopic(topic, [ListOffsetsPartition(index, timestamp=_LATEST)])
    return peers.ask(leader, ListOffsetsRequest(_CONSUMER, topics=[asked]), _SINCE).map(_offset)


def _offset(answer: Any) -> int:
    offset: int = the_only(each for topic in answer.topics for each in topic.partitions).offset
    return offset
