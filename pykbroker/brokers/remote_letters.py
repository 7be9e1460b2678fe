"""Dead letters to a partition that a broker in another process leads (KIP-1191): written by Produce with acks=all, as Apache Kafka does it, and
looked for, as it does not, by ListOffsets and Fetch as a consumer's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pykbroker.brokers.remote_peers import the_only
from pykbroker.runtime.waits import Deferred
from pykbroker.share_partitions.dead_letters.places import encoded
from pykbroker.share_partitions.dead_letters.reading import records_of
from pykbroker.storage.log.fetched import fetched_batches
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pykbroker.brokers.replica_fetcher import Peers
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.wire.message import Message
    from pykbroker.wire.records import Record

#: The lowest versions: names or ids of topics, as the leader knows them.
_PRODUCE_SINCE, _FETCH_SINCE, _LIST_OFFSETS_SINCE = 3, 4, 1
_ALL, _CONSUMER = -1, -1
#: How long the leader may wait for followers, as Apache Kafka's brokers let it.
_TIMEOUT_MS: Final = 30_000
_READ_BYTES: Final = 1024 * 1024
_ANY_EPOCH: Final = 2**31 - 1


class LetterLeader(NamedTuple):
    """A partition and its leader."""

    node_id: int
    topic: str
    topic_id: bytes
    partition: int


class RemoteLetters:
    """See the module, and ``LetterPlace``. A leader that does not answer is NETWORK_EXCEPTION."""

    def __init__(self, peers: Peers, place: LetterLeader, runtime: Runtime, most_bytes: int) -> None:
        self._peers = peers
        self._place = place
        self._runtime = runtime
        self.most_bytes = most_bytes

    def append(self, letters: Sequence[Record]) -> Deferred[None]:
        """See ``LetterPlace``. What is found there is committed."""
        if not letters:
            return Deferred.completed(None)
        place = self._place
        data = TopicProduceData(place.topic, place.topic_id, [PartitionProduceData(place.partition, encoded(letters))])
        request = ProduceRequest(acks=_ALL, timeout_ms=_TIMEOUT_MS, topic_data=[data])
        return self._ask(request, _PRODUCE_SINCE).map(
            lambda answer: the_only(each for topic in answer.responses for each in topic.partition_responses)
        )

    def since(self, since_ms: int) -> Iterator[list[Record] | Deferred[Any]]:
        """See ``LetterPlace``."""
        place = self._place
        beginning = self._ask(
            ListOffsetsRequest(
                _CONSUMER,
                topics=[ListOffsetsTopic(place.topic, [ListOffsetsPartition(place.partition, timestamp=since_ms)])],
            ),
            _LIST_OFFSETS_SINCE,
        )
        yield beginning.settled()
        at, end = the_only(each for topic in beginning.value.topics for each in topic.partitions).offset, None
        while at >= 0 and (end is None or at < end):
            fetched = self._ask(self._fetch(at), _FETCH_SINCE)
            yield fetched.settled()
            data = the_only(each for topic in fetched.value.responses for each in topic.partitions)
            end = data.high_watermark if end is None else end
            batches = fetched_batches(data.records or b"", _ANY_EPOCH, f"{place.topic}-{place.partition}")
            if not batches or batches[-1][0].last_offset < at:
                return  # nothing, or what was before
            for header, batch in batches:
                if not header.is_control:
                    yield from records_of(self._runtime, place, header, batch, range(at, end))
                at = header.last_offset + 1

    def _fetch(self, offset: int) -> FetchRequest:
        place = self._place
        partition = FetchPartition(place.partition, fetch_offset=offset, partition_max_bytes=_READ_BYTES)
        return FetchRequest(max_bytes=_READ_BYTES, topics=[FetchTopic(place.topic, place.topic_id, [partition])])

    def _ask(self, request: Message, since: int) -> Deferred[Any]:
        return self._peers.ask(self._place.node_id, request, since)
