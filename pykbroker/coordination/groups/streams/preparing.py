"""What is made of a large topology before the group's step, in a thread: 6,000 subtopologies are a million lines, which would hold all clients.
So it is with a record of tasks of many subtopologies, which the step finds that it has to write (``NotEncoded``).

It is made of what no later change can touch: the request, the group's topology, and how many partitions topics have. The step takes it
if that is still so (``preparation``), else it is made again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.consumer.metadata_hash import hash_topics
from pykbroker.coordination.groups.streams.configuring import ConfiguredTopology, configure, counts_of
from pykbroker.coordination.groups.streams.group import StreamsGroup
from pykbroker.coordination.groups.streams.records import EncodedTasks, has_many_tasks
from pykbroker.coordination.groups.streams.topology import MANY_NAMES, Topology, topology_of
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from pykbroker.coordination.groups.group import Group
    from pykbroker.coordination.groups.streams.member import StreamsMember
    from pykbroker.coordination.groups.streams.tasks import TaskTuple
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
    from pykbroker.wire.messages.streams_group_heartbeat import Topology as NamedTopology

#: How often it is made anew for one heartbeat, while topics change: then the step does the rest itself.
_MOST_ROUNDS = 10


@dataclass(slots=True)
class Prepared:
    """What was made, of a request and the group's topology ``known`` at the time."""

    known: Topology | None
    rounds: int = 1
    #: The topology that the request brings; None if it brings none, or it has an ``error``.
    brought: Topology | None = None
    #: Whether that is the known one.
    is_same: bool = False
    #: The partitions that topics had, and the topology with them.
    counts: Mapping[str, int] = field(default_factory=dict)
    configured: ConfiguredTopology | None = None
    #: What the brought topology is refused with, and what the configuration.
    error: KafkaError | None = None
    fault: KafkaError | None = None
    #: Values of records that the step writes.
    encoded: tuple[EncodedTasks, ...] = ()

    def topology(self) -> Topology | None:
        """What the request brings. Raises the KafkaError of ``topology_of``."""
        if self.error is not None:
            raise self.error
        return self.brought

    def configuration(self, topology: Topology, image: MetadataImage) -> ConfiguredTopology | None:
        """The topology with its topics, if it was made of this one and nothing has changed. Raises the KafkaError of ``configure``."""
        if topology is not (self.brought if self.known is None else self.known) or self.counts != counts_of(
            topology, image
        ):
            return None
        if self.fault is not None:
            raise self.fault
        return self.configured


class Unprepared:
    """What is to be made for a heartbeat; in place of an answer to it."""

    __slots__ = ()


@dataclass(slots=True)
class Preparation(Unprepared):
    """A topology."""

    named: NamedTopology | None
    known: Topology | None
    image: MetadataImage
    #: Whether the topology's topics must be looked at.
    reads: bool
    rounds: int

    def brought(self) -> Prepared:
        """The topology of the request, compared with the group's. Called in a thread."""
        prepared = Prepared(self.known, self.rounds)
        if self.named is None:
            return prepared
        try:
            prepared.brought = brought = topology_of(self.named)
        except KafkaError as error:
            prepared.error = error
            return prepared
        if self.known is not None:
            prepared.is_same = self.known == brought
        else:
            out = bytearray()
            brought.value.encode(out, 0)
            brought.encoded = bytes(out)
        return prepared

    def topics(self, prepared: Prepared) -> Generator[float, None, Prepared]:
        """Look at the topology's topics: their hashes are kept, and their partitions counted."""
        topology = prepared.brought if self.known is None else self.known
        if topology is not None and self.reads:
            yield from hash_topics(topology.required, self.image)
            prepared.counts = counts_of(topology, self.image)
        return prepared

    def configured(self, prepared: Prepared) -> Prepared:
        """The topology with its topics. Called in a thread."""
        topology = prepared.brought if self.known is None else self.known
        try:
            if topology is not None and self.reads:
                prepared.configured = configure(topology, prepared.counts)
        except KafkaError as error:
            prepared.fault = error
        return prepared


class NotEncoded(Exception):
    """A step has to write a large value, which is to be encoded first."""

    def __init__(self, of: StreamsMember | TaskTuple) -> None:
        super().__init__(of)
        self.of = of


def encoded_before(prepared: Prepared | None, of: StreamsMember | TaskTuple) -> EncodedTasks | None:
    """The value of a member's assignment or target, if it is large. Raises NotEncoded."""
    if not has_many_tasks(of):
        return None
    found = () if prepared is None else prepared.encoded
    for each in found:
        if each.of == of:
            return each
    if len(found) >= _MOST_ROUNDS:
        return None
    raise NotEncoded(of)


@dataclass(slots=True)
class UnencodedTasks(Unprepared):
    """A value of a record."""

    of: StreamsMember | TaskTuple
    prepared: Prepared

    def encoded(self) -> Prepared:
        """With the value. Called in a thread."""
        return replace(self.prepared, encoded=(*self.prepared.encoded, EncodedTasks(self.of)))


def preparation(
    group: Group | None, image: MetadataImage, request: StreamsGroupHeartbeatRequest, prepared: Prepared | None
) -> Preparation | None:
    """What is to be made before a heartbeat's step; None if that is little, or ``prepared``."""
    known = group.topology if isinstance(group, StreamsGroup) else None
    named = request.topology if request.topology is not None and _is_large(request.topology) else None
    if prepared is not None and prepared.rounds >= _MOST_ROUNDS:
        return None
    reads = known is None or not isinstance(group, StreamsGroup) or group.configured is None or group.metadata_is_stale
    if named is None and not (known is not None and known.is_large and reads):
        return None
    if prepared is not None and prepared.known is known:
        topology = prepared.brought if known is None else known
        if topology is None or not reads or prepared.counts == counts_of(topology, image):
            return None
    return Preparation(named, known, image, reads, 1 if prepared is None else prepared.rounds + 1)


def _is_large(named: NamedTopology) -> bool:
    count = len(named.subtopologies)
    for each in named.subtopologies:
        if count > MANY_NAMES:
            return True
        count += len(each.source_topics) + len(each.repartition_source_topics) + len(each.state_changelog_topics)
    return count > MANY_NAMES
