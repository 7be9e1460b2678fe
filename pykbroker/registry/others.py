"""Other registries on the topic: those that have joined the group in which Confluent's elect their leader. While there is one, it leads."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Final

from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.registry.schema import abbreviated
from pykbroker.registry.turns import in_turns
from pykbroker.runtime.escaping import escaped
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.coordination.groups.shard import GroupShard

#: ``schema.registry.group.id`` as by default, and the protocol type of its members.
GROUP: Final = "schema-registry"
PROTOCOL_TYPE: Final = "sr"
#: Longer than what a registry says of itself; more is not parsed.
_LONGEST: Final = 16 * 1024
#: More is not looked at: one of so many may lead.
_MOST: Final = 1000
#: Members whose words are parsed in one turn of the loop.
_AT_ONCE: Final = 5


async def other_leader(cluster: Cluster) -> str | None:
    """The address of another registry, which may lead, in the group, empty if it says none; None if there is no such member. No request of
    clients is awaited for it.
    """
    said = _said_in_group(cluster)
    if len(said) > _MOST:
        return ""
    async for each in in_turns(said, _AT_ONCE):
        address = _address(each)
        if address is not None:
            return address
    return None


def _said_in_group(cluster: Cluster) -> list[bytes]:
    if cluster.partition(CONSUMER_OFFSETS, 0) is None:
        return []  # nobody has joined a group
    for broker in cluster.brokers.values():
        try:
            said = broker.groups.ask(GROUP, _said_by_members)
            return said if isinstance(said, list) else []  # a wait: who joined is not committed yet
        except KafkaError:
            continue  # another broker has the group, or none: nobody can join now
    return []


def _said_by_members(shard: GroupShard) -> list[bytes]:
    group = shard.groups.get(GROUP)
    if not isinstance(group, ClassicGroup) or group.protocol_type != PROTOCOL_TYPE:
        return []
    return list(islice((metadata for member in group.members for _, metadata in member.protocols), _MOST + 1))


def _address(metadata: bytes) -> str | None:
    """A member says who it is in JSON; None for one that is configured never to lead (``leader.eligibility``)."""
    if len(metadata) > _LONGEST:
        return ""
    try:
        said = json.loads(metadata)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(said, dict):
        return ""
    if said.get("master_eligibility") is False:
        return None
    scheme, host, port = said.get("scheme") or "http", said.get("host"), said.get("port")
    return escaped(abbreviated(f"{scheme}://{host}:{port}")) if isinstance(host, str) and isinstance(port, int) else ""
