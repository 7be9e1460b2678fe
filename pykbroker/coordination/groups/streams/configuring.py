"""The partitions of an application's topics: how many its internal topics have, which of them are missing, and how many tasks there are.

Source: Apache Kafka 4.4.0's InternalTopicManager, RepartitionTopics, CopartitionedTopicsEnforcer and ChangelogTopics. A topology is a
stranger's, so each step is linear in its size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from operator import attrgetter
from typing import TYPE_CHECKING

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.groups.streams.topology import Topology, changelogs, invalid_topology, sources
from pykbroker.metadata.java_maps import hash_of_text, in_map_order
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.streams_group_topology import CopartitionGroup, Subtopology

if TYPE_CHECKING:
    from pykbroker.metadata.image import MetadataImage

_SHOWN = 3  # names of topics in a message


class StreamsStatus(IntEnum):
    """The status codes of StreamsGroupHeartbeat."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
    MISSING_CLIENT_TAGS = 6


class TopicFault(Exception):
    """Tasks cannot be assigned with the topics that there are; ``status`` and the message say why."""

    def __init__(self, status: StreamsStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class ConfiguredTopology:
    """A topology with the partitions of its topics. It is ready if ``fault`` is None."""

    topology: Topology
    #: The number of tasks by subtopology, in the order of their ids; None if the topics do not allow any.
    tasks: dict[str, int] | None = None
    #: The number of partitions that each internal topic has or will have.
    partitions: dict[str, int] = field(default_factory=dict)
    missing: list[NewTopic] = field(default_factory=list)
    fault: TopicFault | None = None

    @property
    def is_ready(self) -> bool:
        return self.fault is None


def counts_of(topology: Topology, image: MetadataImage) -> dict[str, int]:
    """The partitions of those of a topology's topics that exist: no line for each, since a stranger may name thousands."""
    known = image.topics
    names = [*(known.keys() & topology.required)]
    partitions = map(attrgetter("partitions"), map(known.__getitem__, names))
    return dict(zip(names, map(len, partitions), strict=True))


def configure(topology: Topology, counts: Mapping[str, int]) -> ConfiguredTopology:
    """The topology with the topics that exist, which have so many partitions (``counts_of``). Raises KafkaError STREAMS_INVALID_TOPOLOGY, and UNKNOWN_SERVER_ERROR where
    Kafka does not expect what a topology has.
    """
    try:
        return _Configuring(topology, counts).configured()
    except TopicFault as fault:
        return ConfiguredTopology(topology, fault=fault)


class _Configuring:
    """One topology and the partition counts that are decided so far."""

    def __init__(self, topology: Topology, counts: Mapping[str, int]) -> None:
        self._topology = topology
        self._existing = counts.get
        self._decided: dict[str, int] = {}
        infos = [info for each in topology.subtopologies for info in each.repartition_source_topics]
        self._fixed = {info.name: info.partitions for info in infos if info.partitions}
        self._repartition = {info.name for info in infos}

    def configured(self) -> ConfiguredTopology:
        self._check_sources()
        self._decide_repartition()
        self._check_copartitioned()
        self._decide_changelogs()
        subtopologies = sorted(self._topology.subtopologies, key=lambda each: each.subtopology_id)
        tasks = {each.subtopology_id: self._most(each) for each in subtopologies}
        internal = self._internal(subtopologies)
        absent = self._missing(internal)
        missing = [absent[name] for name in in_map_order(absent, hash_of_text, at_least=16)]
        fault = None
        if missing:
            names = _summary([new.name for new in missing])
            fault = TopicFault(StreamsStatus.MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {names}")
        partitions = {name: new.partitions for name, new in internal.items()}
        return ConfiguredTopology(self._topology, tasks, partitions, missing, fault)

    def _count(self, name: str) -> int | None:
        """The partitions of a topic: what it has goes before what was decided."""
        existing = self._existing(name)
        return self._decided.get(name) if existing is None else existing

    def _known(self, name: str) -> int:
        count = self._count(name)
        if count is None:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return count

    def _most(self, subtopology: Subtopology) -> int:
        """The tasks of a subtopology: the most partitions of a topic that it reads."""
        most = max(map(self._known, sources(subtopology)))
        if most < 1:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return most

    def _check_sources(self) -> None:
        missing = {
            name for each in self._topology.subtopologies for name in each.source_topics if self._existing(name) is None
        }
        if missing:
            message = f"Source topics {_summary(sorted(missing))} are missing."
            raise TopicFault(StreamsStatus.MISSING_SOURCE_TOPICS, message)

    # Repartition topics

    def _decide_repartition(self) -> None:
        """A repartition topic has as many partitions as the topic with the most that is read by the subtopology that writes it."""
        counts = self._fixed.copy()
        readers: dict[str, list[Subtopology]] = {}
        for each in self._topology.subtopologies:
            for info in each.repartition_source_topics:
                readers.setdefault(info.name, []).append(each)
        waiting = deque(self._topology.subtopologies)
        done: set[str] = set()
        while waiting:
            each = waiting.popleft()
            count = None if each.subtopology_id in done else self._most_so_far(each, counts)
            if count is None:
                continue
            done.add(each.subtopology_id)
            for sink in each.repartition_sink_topics:
                if sink not in counts:
                    counts[sink] = count
                    waiting.extend(readers.get(sink, ()))
        undecided = any(
            sink not in counts for each in self._topology.subtopologies for sink in each.repartition_sink_topics
        )
        if undecided:
            raise invalid_topology(
                "Failed to compute number of partitions for all repartition topics. There may be loops in the topology that "
                "cannot be resolved."
            )
        if not self._repartition <= counts.keys():
            raise invalid_topology(
                "Failed to compute number of partitions for all repartition topics, because a repartition source topic is never "
                "used as a sink topic."
            )
        self._decided |= counts

    def _most_so_far(self, subtopology: Subtopology, counts: dict[str, int]) -> int | None:
        found = [counts[info.name] for info in subtopology.repartition_source_topics if info.name in counts]
        found += [count for name in subtopology.source_topics if (count := self._count(name)) is not None]
        return max(found, default=None)

    # Topics that are read together

    def _check_copartitioned(self) -> None:
        fixed = {name: self._known(name) for name in self._fixed}
        for each in self._topology.subtopologies:
            for group in each.copartition_groups:
                self._copartition(_named_in(group, each), fixed)

    def _copartition(self, names: set[str], fixed: dict[str, int]) -> None:
        """Topics of one group have equally many partitions; repartition topics follow the others."""
        counts = {name: self._known(name) for name in names}
        others = {name: count for name, count in counts.items() if name not in self._repartition}
        if not counts:
            return
        if others:
            wanted = _same(others.values(), others)
        elif fixed:
            wanted = _same(fixed.values(), counts)
        else:
            wanted = max(counts.values())
        for name in counts.keys() - others.keys():
            if name in fixed and counts[name] != wanted:
                raise TopicFault(
                    StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS,
                    f"Number of partitions [{counts[name]}] of repartition topic [{name}] doesn't match number of partitions "
                    f"[{wanted}] of the source topic.",
                )
            self._decided[name] = wanted

    # Changelog topics, and what is to be created

    def _decide_changelogs(self) -> None:
        for each in self._topology.subtopologies:
            count = max(map(self._known, sources(each)), default=None)
            if count is None:
                raise invalid_topology(f"No source topics found for subtopology {each.subtopology_id}")
            self._decided |= dict.fromkeys(changelogs(each), count)

    def _internal(self, subtopologies: Iterable[Subtopology]) -> dict[str, NewTopic]:
        """All internal topics, as they are created."""
        found: dict[str, NewTopic] = {}
        for each in subtopologies:
            for info in (*each.repartition_source_topics, *each.state_changelog_topics):
                partitions = info.partitions or self._decided[info.name]
                if partitions < 1:
                    raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
                configs: dict[str, str | None] = {config.key: config.value for config in info.topic_configs}
                found[info.name] = NewTopic(info.name, partitions, info.replication_factor or -1, configs=configs)
        return found

    def _missing(self, internal: dict[str, NewTopic]) -> dict[str, NewTopic]:
        missing: dict[str, NewTopic] = {}
        for name, new in internal.items():
            existing = self._existing(name)
            if existing is None:
                missing[name] = new
            elif existing != new.partitions:
                raise TopicFault(
                    StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS,
                    f"Existing topic {name} has different number of partitions: expected {new.partitions}, found {existing}",
                )
        return missing


def _named_in(group: CopartitionGroup, subtopology: Subtopology) -> set[str]:
    """The topics of a group, which has their places in the subtopology's lists."""
    repartition = subtopology.repartition_source_topics
    try:
        return {subtopology.source_topics[_place(index)] for index in group.source_topics} | {
            repartition[_place(index)].name for index in group.repartition_source_topics
        }
    except IndexError:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from None


def _place(index: int) -> int:
    if index < 0:
        raise IndexError(index)
    return index


def _same(counts: Collection[int], named: dict[str, int]) -> int:
    """The one count. Raises TopicFault, which names the topics of ``named``."""
    found = set(counts)
    if len(found) > 1:
        listed = ", ".join(f"{name}={count}" for name, count in sorted(named.items()))
        message = f"Following topics do not have the same number of partitions: [{{{listed}}}]"
        raise TopicFault(StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS, message)
    return found.pop()


def _summary(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} additional topics" if more > 0 else "")
