"""The topology of a Kafka Streams application: its subtopologies, and the topics that they read and write.

It is kept as its record has it (``StreamsGroupTopologyValue``). One group has one topology: members that bring another are refused.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from pykbroker.metadata.names import is_internal, is_valid_topic_name
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.streams_group_topology import (
    CopartitionGroup,
    StreamsGroupTopologyValue,
    Subtopology,
    TopicConfig,
    TopicInfo,
)

if TYPE_CHECKING:
    from pykbroker.runtime.slices import Steps
    from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
    from pykbroker.wire.messages.streams_group_heartbeat import Subtopology as NamedSubtopology
    from pykbroker.wire.messages.streams_group_heartbeat import TopicInfo as NamedTopic
    from pykbroker.wire.messages.streams_group_heartbeat import Topology as NamedTopology

#: Subtopologies and topics from which on a topology is large: some 20,000 lines.
MANY_NAMES = 200
#: The weight of looking at a topic's name (``runtime/slices.py``).
_WEIGHT = 0.25
#: The least that a record has of a subtopology and of a topic beside texts: the lengths of six lists, and the numbers of a topic.
_OF_A_SUBTOPOLOGY = ("",) * 6
_OF_A_TOPIC = ("",) * 7


class Topology:
    """See the module. Equal to another with the same epoch and subtopologies, in any order."""

    __slots__ = ("_by_id", "_read_by", "encoded", "epoch", "required", "value")

    def __init__(self, value: StreamsGroupTopologyValue) -> None:
        self.value = value
        #: Of a large one until its record is written: the bytes of its value.
        self.encoded: bytes | None = None
        self.epoch = value.epoch
        self._by_id = {each.subtopology_id: each for each in value.subtopologies}
        self._read_by = {name: each.subtopology_id for each in value.subtopologies for name in sources(each)}
        #: The topics that must exist.
        self.required = frozenset(name for each in value.subtopologies for name in (*sources(each), *changelogs(each)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topology) and self.epoch == other.epoch and self._by_id == other._by_id

    __hash__ = None  # type: ignore[assignment]  # its parts are mutable

    @property
    def subtopologies(self) -> list[Subtopology]:
        return self.value.subtopologies

    @property
    def is_large(self) -> bool:
        """Whether what is made of all of it is too much for a turn of the loop."""
        return len(self._by_id) + len(self.required) > MANY_NAMES

    def subtopology(self, subtopology_id: str) -> Subtopology | None:
        """The subtopology with an id."""
        return self._by_id.get(subtopology_id)

    def reader_of(self, topic: str) -> str | None:
        """The id of the subtopology that reads a topic."""
        return self._read_by.get(topic)


class LargeValue:
    """The value of a large topology's record, which is encoded already; as such it is replayed without being made anew."""

    __slots__ = ("_encoded", "topology")

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self._encoded = topology.encoded or b""

    def encode(self, out: bytearray, version: int) -> None:
        """As of a message."""
        out += self._encoded


def sources(subtopology: Subtopology) -> Iterator[str]:
    """The topics that a subtopology reads, others' and repartition topics."""
    yield from subtopology.source_topics
    for topic in subtopology.repartition_source_topics:
        yield topic.name


def changelogs(subtopology: Subtopology) -> Iterator[str]:
    """The changelog topics of its state stores."""
    for topic in subtopology.state_changelog_topics:
        yield topic.name


def topology_of(named: NamedTopology) -> Topology:
    """The topology in a member's request. Raises KafkaError UNKNOWN_SERVER_ERROR, as Kafka, for a negative epoch, and
    if two subtopologies have one id.
    """
    value = StreamsGroupTopologyValue(named.epoch, [_subtopology(each) for each in named.subtopologies])
    if named.epoch < 0 or len({each.subtopology_id for each in value.subtopologies}) < len(value.subtopologies):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return Topology(value)


def _subtopology(named: NamedSubtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=named.subtopology_id,
        source_topics=named.source_topics,
        source_topic_regex=named.source_topic_regex,
        state_changelog_topics=[_topic(each) for each in named.state_changelog_topics],
        repartition_sink_topics=named.repartition_sink_topics,
        repartition_source_topics=[_topic(each) for each in named.repartition_source_topics],
        copartition_groups=[
            CopartitionGroup(each.source_topics, each.source_topic_regex, each.repartition_source_topics)
            for each in named.copartition_groups
        ],
    )


def _topic(named: NamedTopic) -> TopicInfo:
    configs = [TopicConfig(each.key, each.value) for each in named.topic_configs]
    return TopicInfo(named.name, named.partitions, named.replication_factor, configs)


def topics_named(request: StreamsGroupHeartbeatRequest) -> Iterator[str]:
    """The topics of the topology in a request, each once, in the order of Kafka's messages."""
    seen: set[str] = set()
    for each in [] if request.topology is None else request.topology.subtopologies:
        for names in (
            each.source_topics,
            each.repartition_sink_topics,
            (topic.name for topic in each.repartition_source_topics),
            (topic.name for topic in each.state_changelog_topics),
        ):
            for name in names:
                if name not in seen:
                    seen.add(name)
                    yield name


def words_of(topology: NamedTopology) -> Generator[float, None, list[str]]:
    """The texts in a topology, as often as its record has them, and for each other byte of it an empty one."""
    words: list[str] = []
    for each in topology.subtopologies:
        words += (each.subtopology_id, *_OF_A_SUBTOPOLOGY)
        for names in (each.source_topics, each.source_topic_regex, each.repartition_sink_topics):
            words += names
        for topic in (*each.repartition_source_topics, *each.state_changelog_topics):
            words += (topic.name, *_OF_A_TOPIC)
            for setting in topic.topic_configs:
                words += (setting.key, setting.value)
            yield _WEIGHT
        yield 2 * _WEIGHT
    return words


def check_topics(request: StreamsGroupHeartbeatRequest) -> Steps:
    """Raises KafkaError STREAMS_INVALID_TOPOLOGY for topics of Kafka's own, and for names that no topic can have."""
    prohibited: list[str] = []
    invalid: list[str] = []
    for name in topics_named(request):
        if is_internal(name):
            prohibited.append(name)
        elif not is_valid_topic_name(name):
            invalid.append(name)
        yield _WEIGHT
    if prohibited:
        raise invalid_topology(
            f"Use of Kafka internal topics {','.join(prohibited)} in a Kafka Streams topology is prohibited."
        )
    if invalid:
        raise invalid_topology(f"Topic names {','.join(invalid)} are not valid topic names.")


def invalid_topology(message: str) -> KafkaError:
    """STREAMS_INVALID_TOPOLOGY."""
    return KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)
