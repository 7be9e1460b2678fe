"""Records of ``__consumer_offsets``: Kafka's own layouts, to bytes and back.

Key and value each begin with an int16: the record's type in the key, the layout's version in the value. Versions
written are those of Apache Kafka 4.4.0 (GroupCoordinatorRecordHelpers); every version is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING

from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.partitions.internal_records import NO_HEADERS, varint
from pykbroker.wire.internal.coordinator import (
    decode_coordinator_key,
    decode_coordinator_value,
    encode_coordinator_key,
    encode_coordinator_value,
)
from pykbroker.wire.internal.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from pykbroker.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue
from pykbroker.wire.primitives import ZERO_UUID

if TYPE_CHECKING:
    from pykbroker.coordination.groups.classic.member import Member
    from pykbroker.coordination.groups.offsets import CommittedInTopic
    from pykbroker.partitions.internal_records import CoordinatorBatch

_GROUP_VERSION = 3
#: The longest metadata whose length takes one byte.
_SHORT = 126
_pack_partition = Struct(">i").pack
#: The version, the offset, its leader epoch, and the length of the metadata, which follow.
_pack_offset = Struct(">hqiB").pack
#: The time of the commit; the number of tagged fields, the tag and the size of the topic id, and itself.
_pack_time_and_topic = Struct(">qBBB16s").pack
#: What both take.
_OFFSET_SIZE = 15 + 27
#: Partition, size of the value as the records have it, and all of a value without metadata, whose length is counted from one.
_pack_bare, _BARE_SIZE = Struct(">ibhqi29s").pack, 2 * _OFFSET_SIZE
_OFFSET_VERSION = 4
_OFFSET_WITH_EXPIRY_VERSION = 1  # the only layout with the expiry time of OffsetCommit v2 to v4


def group_record(
    group_id: str,
    *,
    generation: int,
    protocol_type: str | None,
    protocol: str | None,
    leader: str | None,
    timestamp_ms: int,
    members: Iterable[tuple[Member, bytes]] = (),
) -> CoordinatorRecord:
    """A classic group at rest: its generation, and each member with its assignment."""
    value = GroupMetadataValue(
        protocol_type=protocol_type or "",
        generation=generation,
        protocol=protocol,
        leader=leader,
        current_state_timestamp=timestamp_ms,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(protocol),
                assignment=assignment,
            )
            for member, assignment in members
        ],
    )
    return CoordinatorRecord(GroupMetadataKey(group=group_id), value, _GROUP_VERSION)


def group_tombstone(group_id: str) -> CoordinatorRecord:
    """The end of a classic group."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id), None, _GROUP_VERSION)


def offset_record(group_id: str, topic: str, partition: int, value: OffsetCommitValue) -> CoordinatorRecord:
    """A committed offset."""
    version = _OFFSET_VERSION if value.expire_timestamp < 0 else _OFFSET_WITH_EXPIRY_VERSION
    return CoordinatorRecord(OffsetCommitKey(group_id, topic, partition), value, version)


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    """The end of a committed offset."""
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None, _OFFSET_VERSION)


def owner_of(record: CoordinatorRecord) -> str:
    """The group that a record belongs to."""
    key = record.key
    return str(key.group if isinstance(key, GroupMetadataKey | OffsetCommitKey) else key.group_id)


def encode(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value in bytes."""
    if type(record.key) is OffsetCommitKey and record.value_version == _OFFSET_VERSION and record.value is not None:
        return _encode_offset(record.key, record.value)
    value = None if record.value is None else encode_coordinator_value(record.value, record.value_version)
    return encode_coordinator_key(record.key), value


def _encode_offset(key: OffsetCommitKey, value: OffsetCommitValue) -> tuple[bytes, bytes | None]:
    """The same for a committed offset, of which there are more than of all others together: its layout in two strokes where it has the
    usual length.
    """
    head = _offset_key_head(key.group, key.topic)
    metadata = value.metadata.encode()
    if len(metadata) > _SHORT or value.unknown_tagged_fields or value.topic_id == ZERO_UUID:
        return head + _pack_partition(key.partition), encode_coordinator_value(value, _OFFSET_VERSION)
    begin = _pack_offset(_OFFSET_VERSION, value.offset, value.leader_epoch, len(metadata) + 1)
    return head + _pack_partition(key.partition), begin + metadata + _pack_time_and_topic(
        value.commit_timestamp, 1, 0, 16, value.topic_id
    )


@lru_cache(maxsize=256)
def _offset_key_head(group_id: str, topic: str) -> bytes:
    """What the keys of a group's offsets of a topic have in common: all but the partition."""
    return encode_coordinator_key(OffsetCommitKey(group_id, topic))[:-4]


def add_offsets(
    batch: CoordinatorBatch, group_id: str, committed: CommittedInTopic, now_ms: int, expires_ms: int
) -> None:
    """Add the records of offsets that a group commits to a batch: what ``encode`` and ``CoordinatorBatch.add`` make of them, at less cost."""
    topic, topic_id, offsets = committed
    begin = _offset_key_begin(group_id, topic)
    end = _pack_time_and_topic(now_ms, 1, 0, 16, topic_id) + NO_HEADERS
    bare_end, is_usual, added = b"\x01" + end, expires_ms < 0 and topic_id != ZERO_UUID, []
    for index, offset, leader_epoch, text in offsets:
        if is_usual and not text:
            added.append(begin + _pack_bare(index, _BARE_SIZE, _OFFSET_VERSION, offset, leader_epoch, bare_end))
            continue
        metadata = text.encode()
        size = len(metadata)
        if size > _SHORT or not is_usual:
            value = OffsetCommitValue(offset, leader_epoch, text, now_ms, expires_ms, topic_id)
            _, encoded = encode(offset_record(group_id, topic, index, value))
            assert encoded is not None
            added.append(begin + _pack_partition(index) + varint(len(encoded)) + encoded + NO_HEADERS)
            continue
        head = begin + _pack_partition(index) + varint(_OFFSET_SIZE + size)
        added.append(head + _pack_offset(_OFFSET_VERSION, offset, leader_epoch, size + 1) + metadata + end)
    batch.add_encoded(added)


@lru_cache(maxsize=256)
def _offset_key_begin(group_id: str, topic: str) -> bytes:
    """``_offset_key_head`` with the length of the key."""
    head = _offset_key_head(group_id, topic)
    return varint(len(head) + 4) + head


def decode(key: bytes, value: bytes | None) -> CoordinatorRecord:
    """Decode a record. Raises WireError if the bytes do not match the type, or it is unknown: Kafka skips it, too."""
    key_message = decode_coordinator_key(key)
    if value is None:
        return CoordinatorRecord(key_message, None, 0)
    version = int.from_bytes(value[:2], "big")
    return CoordinatorRecord(key_message, decode_coordinator_value(key_message, value), version)
