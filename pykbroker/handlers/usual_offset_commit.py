"""OffsetCommit in its usual form, from the bytes of the request to those of the answer without the messages between them.

That is what consumers send all day: a flexible version, and partitions that exist. Anything else, malformed bytes too, and whatever the
group refuses, is left to ``offset_commit.py`` before anything is written. No rule is here: the group says who may commit, and a commit that
fails or waits is answered as ``offset_commit.py`` answers it.
"""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Any, NamedTuple

from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.handlers.in_slices import AT_ONCE
from pykbroker.handlers.offset_commit import TOPIC_IDS_SINCE, failed
from pykbroker.security.context import RequestContext
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition
from pykbroker.wire.primitives import LONG_UVARINT, UUID_SIZE, Buffer

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.groups.offsets import CommittedInTopic
    from pykbroker.security.context import Peer

#: The first flexible version.
SINCE = 8
#: The generation, and the first byte of the member id's length; index, offset, leader epoch, and the same of the metadata's.
_unpack_generation = Struct(">iB").unpack_from
_unpack_partition = Struct(">iqiB").unpack_from
#: The size, the correlation id, no tags, no throttling, the number of topics.
_BEGIN = Struct(">iixxxxxB")
#: Index, no error, no tags.
_pack_partition = Struct(">ixxx").pack


class _Topic(NamedTuple):
    """A topic of a request, as ``CommittedInTopic`` and as an OffsetCommitRequestTopic."""

    name: str
    topic_id: bytes
    offsets: list[tuple[int, int, int, str]]

    @property
    def partitions(self) -> list[OffsetCommitRequestPartition]:
        return [OffsetCommitRequestPartition(*each) for each in self.offsets]


class _UsualCommitResponse:
    """Takes the place of an OffsetCommitResponse."""

    def __init__(self, body: Buffer) -> None:
        self._body = body

    def encode(self, out: bytearray, _version: int) -> None:
        """Append the response to a frame."""
        out += self._body


def answer(
    broker: Broker, peer: Peer, frame: memoryview, body: int, version: int, header: tuple[int, str | None]
) -> list[Buffer] | tuple[RequestContext, OffsetCommitRequest, Any] | None:
    """The pieces of the answer to the request whose body begins at ``body`` in ``frame``; ``header`` has its correlation id and the
    client's. Where the commit waits or fails, what the dispatcher goes on with: the request and the wait for its response. None for an
    unusual request, of which nothing has been done.
    """
    try:
        usual = _read(broker, frame, body, version)
        if usual is None:
            return None
        request, topics, out = usual
        waiting = broker.groups.ask(request.group_id, GroupShard.commit_usual, request, topics, version)
    except (IndexError, ValueError, struct_error, KafkaError):
        return None  # malformed, or refused
    _BEGIN.pack_into(out, 0, len(out) - 4, header[0], len(topics) + 1)
    if waiting is None:
        return [out]
    response: Any = _UsualCommitResponse(out[9:])
    ctx = RequestContext(ApiKey.OFFSET_COMMIT, version, *header, peer.host, peer.listener, peer.principal, peer)
    answered = waiting.map(lambda _: response).recover(KafkaError, lambda error: failed(request, version, error))
    return ctx, request, answered


def _read(
    broker: Broker, frame: memoryview, pos: int, version: int
) -> tuple[OffsetCommitRequest, list[CommittedInTopic], bytearray] | None:
    """The request, its topics, and the answer without its beginning. Raises IndexError, ValueError or struct.error where it is malformed."""
    size = frame[pos]
    start, pos = pos + 1, pos + size
    group_id = str(frame[start:pos], "utf-8")
    generation, member_size = _unpack_generation(frame, pos)
    start, pos = pos + 5, pos + 4 + member_size
    member_id = str(frame[start:pos], "utf-8")
    instance_size = frame[pos]
    pos += 1
    instance_id = None
    if instance_size:
        start, pos = pos, pos + instance_size - 1
        instance_id = str(frame[start:pos], "utf-8")
    count = frame[pos]
    pos += 1
    if not (
        0 < size < LONG_UVARINT
        and 0 < member_size < LONG_UVARINT
        and instance_size < LONG_UVARINT
        and 1 < count < LONG_UVARINT
    ):
        return None
    topics: list[CommittedInTopic] = []
    out = bytearray(_BEGIN.size)
    by_id, room, longest = version >= TOPIC_IDS_SINCE, AT_ONCE, broker.groups.settings.offset_metadata_max_bytes
    for _ in range(count - 1):
        start, size = pos, UUID_SIZE if by_id else frame[pos]
        pos += size
        encoded = frame[start:pos]
        out += encoded
        name = broker.topic_name(bytes(encoded)) if by_id else str(encoded[1:], "utf-8")
        topic = None if name is None else broker.metadata.image.topics.get(name)
        parts = frame[pos]
        room -= parts
        pos += 1
        if topic is None or not 0 < size < LONG_UVARINT or not 1 < parts < LONG_UVARINT or room < 0:
            return None
        out.append(parts)
        offsets = []
        for _ in range(parts - 1):
            index, offset, leader_epoch, size = _unpack_partition(frame, pos)
            start, pos = pos + 17, pos + 17 + (size - 1 if size else 0)
            if index not in topic.partitions or size >= LONG_UVARINT or size - 1 > longest or frame[pos]:
                return None
            out += _pack_partition(index)
            offsets.append((index, offset, leader_epoch, str(frame[start:pos], "utf-8") if size > 1 else ""))
            pos += 1
        if frame[pos]:
            return None
        out.append(0)
        pos += 1
        topics.append(_Topic(topic.name, topic.id, offsets))
    if frame[pos] or pos + 1 != len(frame):
        return None
    out.append(0)
    named: Any = topics
    return OffsetCommitRequest(group_id, generation, member_id, instance_id, -1, named), topics, out
