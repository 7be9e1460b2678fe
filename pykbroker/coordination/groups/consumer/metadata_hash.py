"""The hash of a group's topics, by which it detects changes (KIP-1101). It equals Kafka's, so that either broker takes over
the other's groups without a rebalance.

Topic: XXH3-64 of a zero byte, the id's two halves, the name, the number of partitions, and for each partition its
number and the sorted racks of its replicas. Group: XXH3-64 of the topics' hashes in the order of their names. Numbers
are little endian, a string is its UTF-16 units and then their count (hash4j's HashStream64).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from struct import pack
from typing import TYPE_CHECKING

import xxhash

from pykbroker.metadata.image import MetadataImage, TopicImage

if TYPE_CHECKING:
    from pykbroker.runtime.slices import Steps

#: The weight of hashing a topic (``runtime/slices.py``).
_WEIGHT = 0.2

_Racks = tuple[tuple[str, ...], ...]


def metadata_hash(topics: Iterable[str], image: MetadataImage) -> int:
    """The hash of the topics that exist among these (int64); 0 when none does."""
    racks = {broker.id: broker.rack for broker in image.brokers.values() if broker.rack is not None}
    known = image.topics
    found = [known[name] for name in sorted(known.keys() & topics)]
    if not found:
        return 0
    if racks:
        stream = [_topic_hash(topic.id, topic.name, len(topic.partitions), _racks_of(topic, racks)) for topic in found]
    else:
        stream = [_topic_hash(topic.id, topic.name, len(topic.partitions), None) for topic in found]
    return _signed(xxhash.xxh3_64_intdigest(b"".join(stream)))


def hash_topics(topics: Iterable[str], image: MetadataImage) -> Steps:
    """Hash those of the topics that exist and have no racks, in slices: ``metadata_hash`` finds what is hashed already."""
    for name in image.topics.keys() & topics:
        topic = image.topics.get(name)
        if topic is not None:
            _topic_hash(topic.id, name, len(topic.partitions), None)
        yield _WEIGHT


def _racks_of(topic: TopicImage, racks: dict[int, str]) -> _Racks:
    """The racks of each partition's replicas."""
    return tuple(
        tuple(sorted(racks[replica] for replica in partition.replicas if replica in racks))
        for partition in topic.in_order()
    )


@lru_cache(maxsize=16_384)
def _topic_hash(topic_id: bytes, name: str, partitions: int, racks: _Racks | None) -> bytes:
    stream = bytearray(b"\0")
    stream += topic_id[7::-1] + topic_id[:7:-1]
    stream += _string(name)
    stream += pack("<i", partitions)
    for index in range(partitions):
        stream += pack("<i", index)
        for rack in racks[index] if racks is not None else ():
            stream += pack("<i", len(rack)) + _string(rack)
    return xxhash.xxh3_64_intdigest(bytes(stream)).to_bytes(8, "little")


def _string(text: str) -> bytes:
    units = text.encode("utf-16-le", "surrogatepass")
    return units + pack("<i", len(units) // 2)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
