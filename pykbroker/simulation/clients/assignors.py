"""How the leader of a classic group shares out partitions: eagerly by ranges, or cooperatively (KIP-429)."""

from __future__ import annotations

from collections.abc import Mapping

from pykbroker.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment
from pykbroker.wire.internal.consumer_protocol_assignment import TopicPartition as Assigned
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from pykbroker.wire.internal.consumer_protocol_subscription import TopicPartition as Owned

TopicPartition = tuple[str, int]
Share = dict[str, list[TopicPartition]]

RANGE, COOPERATIVE = "range", "cooperative-sticky"

_SUBSCRIPTION_VERSION = 2
_ASSIGNMENT_VERSION = 2


def subscription(topics: list[str], owned: list[TopicPartition], generation: int) -> bytes:
    """What a member says of itself in JoinGroup."""
    held = [Owned(topic, [index]) for topic, index in owned]
    out = bytearray(_SUBSCRIPTION_VERSION.to_bytes(2, "big"))
    ConsumerProtocolSubscription(topics, None, held, generation).encode(out, _SUBSCRIPTION_VERSION)
    return bytes(out)


def owned(metadata: bytes) -> tuple[list[TopicPartition], int]:
    """What a member says that it owns, and since which generation."""
    read, _ = ConsumerProtocolSubscription.decode(metadata, 2, int.from_bytes(metadata[:2], "big"))
    return [(each.topic, index) for each in read.owned_partitions for index in each.partitions], read.generation_id


def encode_share(partitions: list[TopicPartition]) -> bytes:
    """One member's share as SyncGroup carries it."""
    out = bytearray(_ASSIGNMENT_VERSION.to_bytes(2, "big"))
    assigned = [Assigned(topic, [index]) for topic, index in partitions]
    ConsumerProtocolAssignment(assigned).encode(out, _ASSIGNMENT_VERSION)
    return bytes(out)


def decode_share(assignment: bytes) -> list[TopicPartition]:
    """A share out of SyncGroup; no bytes are no partitions."""
    if not assignment:
        return []
    read, _ = ConsumerProtocolAssignment.decode(assignment, 2, int.from_bytes(assignment[:2], "big"))
    return [(each.topic, index) for each in read.assigned_partitions for index in each.partitions]


def by_range(members: list[str], partitions: list[TopicPartition]) -> Share:
    """To each member a stretch of the partitions, in order."""
    members = sorted(members)
    return {
        member: [
            each for number, each in enumerate(sorted(partitions)) if number * len(members) // len(partitions) == at
        ]
        for at, member in enumerate(members)
    }


def cooperatively(members: Mapping[str, bytes], partitions: list[TopicPartition]) -> Share:
    """Everybody keeps a fair part of what he owns; what another still owns is given away only once he let go of it."""
    owner = _owners(members, partitions)
    fair = -(-len(partitions) // len(members))
    share: Share = {member: [] for member in sorted(members)}
    for where, member in sorted(owner.items()):
        if len(share[member]) < fair:
            share[member].append(where)
    for where in sorted(set(partitions) - owner.keys()):
        min(share.values(), key=len).append(where)
    return share


def _owners(members: Mapping[str, bytes], partitions: list[TopicPartition]) -> dict[TopicPartition, str]:
    """Who owns what; a partition that two claim belongs to the one of the later generation."""
    since: dict[TopicPartition, int] = {}
    owner: dict[TopicPartition, str] = {}
    for member in sorted(members):
        claimed, generation = owned(members[member])
        for where in claimed:
            if where in partitions and generation > since.get(where, -2):
                since[where] = generation
                owner[where] = member
    return owner
