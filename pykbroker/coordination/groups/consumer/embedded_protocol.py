"""The embedded protocol of classic consumers in JoinGroup and SyncGroup, as far as the coordinator itself reads and writes it:
subscriptions and assignments of the protocol type "consumer", in all versions.
"""

from __future__ import annotations

from collections.abc import Mapping

from pykbroker.coordination.groups.consumer.member import Owned
from pykbroker.coordination.groups.surroundings import Surroundings
from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription

_LATEST = 3
#: The most bytes of a subscription, which is read in one turn.
_MOST_BYTES = 256 * 1024


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Decode a member's subscription; later versions begin with the fields of the latest known one. Raises WireError, for one of more
    than 256 KiB, too.
    """
    if len(metadata) > _MOST_BYTES:
        raise WireError(f"a subscription of {len(metadata)} bytes")
    return ConsumerProtocolSubscription.decode(metadata, 2, version_of(metadata))[0]


def read_assignment(assignment: bytes) -> ConsumerProtocolAssignment:
    """Decode a member's assignment. Raises WireError."""
    return ConsumerProtocolAssignment.decode(assignment, 2, version_of(assignment))[0]


def version_of(metadata: bytes) -> int:
    """The version to read or answer in. Raises WireError if there is none."""
    if len(metadata) < 2:
        raise WireError("no version before the consumer protocol's message")
    version = int.from_bytes(metadata[:2], "big", signed=True)
    if version < 0:
        raise WireError(f"version {version} of the consumer protocol")
    return min(version, _LATEST)


def write_assignment(partitions: Mapping[bytes, list[int]], around: Surroundings, version: int) -> bytes:
    """An assignment of topics by their ids, those that exist, in the given version."""
    topics = [
        TopicPartition(name, indexes)
        for topic_id, indexes in partitions.items()
        if (name := around.topic_name(topic_id)) is not None
    ]
    out = bytearray(version.to_bytes(2, "big"))
    ConsumerProtocolAssignment(topics).encode(out, version)
    return bytes(out)


def reported(subscription: ConsumerProtocolSubscription, around: Surroundings) -> dict[bytes, set[int]]:
    """The partitions that a member reports to own, of existing topics by id."""
    found: dict[bytes, set[int]] = {}
    for topic in subscription.owned_partitions:
        topic_id = around.topic_id(topic.topic)
        if topic_id is not None:
            found.setdefault(topic_id, set()).update(topic.partitions)
    return found


def assigned_by_id(assignment: ConsumerProtocolAssignment, around: Surroundings, epoch: int) -> Owned:
    """An assignment by topic ids, all of it since ``epoch``, of topics that exist."""
    owned: Owned = {}
    for topic in assignment.assigned_partitions:
        topic_id = around.topic_id(topic.topic)
        if topic_id is not None:
            owned.setdefault(topic_id, {}).update(dict.fromkeys(topic.partitions, epoch))
    return owned
