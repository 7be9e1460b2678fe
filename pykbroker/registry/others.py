"""Other registries on the topic: those that have joined the group in which Confluent's elect their leader. While there is one, it leads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.coordination.groups.shard import GroupShard

#: ``schema.registry.group.id`` as by default, and the protocol type of its members.
GROUP: Final = "schema-registry"
PROTOCOL_TYPE: Final = "sr"
#: Longer than what a registry says of itself; more is not parsed.
_LONGEST: Final = 16 * 1024


def another_leads(cluster: Cluster) -> bool:
    """Whether another registry, which may lead, is a member of the group. No request of clients is awaited for it."""
    if cluster.partition(CONSUMER_OFFSETS, 0) is None:
        return False  # nobody has joined a group
    for broker in cluster.brokers.values():
        try:
            return broker.groups.ask(GROUP, _has_candidates) is True
        except KafkaError:
            continue  # another broker has the group, or none: nobody can join now
    return False


def _has_candidates(shard: GroupShard) -> bool:
    group = shard.groups.get(GROUP)
    if not isinstance(group, ClassicGroup) or group.protocol_type != PROTOCOL_TYPE:
        return False
    return any(_may_lead(metadata) for member in group.members for _, metadata in member.protocols)


def _may_lead(metadata: bytes) -> bool:
    """A member says who it is in JSON; it may be configured never to lead (``leader.eligibility``)."""
    if len(metadata) > _LONGEST:
        return True
    try:
        said = json.loads(metadata)
    except (ValueError, RecursionError):
        return True
    return not isinstance(said, dict) or said.get("master_eligibility") is not False
