"""Partitions of internal topics, and topologies that have none. What Kafka answers to them, the oracle compares."""

from __future__ import annotations

import sys

import pytest

from pykbroker.coordination.groups.streams.configuring import ConfiguredTopology, StreamsStatus, configure, counts_of
from pykbroker.coordination.groups.streams.topology import Topology
from pykbroker.metadata.image import MetadataImage, PartitionImage, TopicImage
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.streams_group_topology import (
    CopartitionGroup,
    StreamsGroupTopologyValue,
    Subtopology,
    TopicInfo,
)


def image_of(**topics: int) -> MetadataImage:
    image = MetadataImage()
    for name, count in topics.items():
        partitions = {index: PartitionImage(index, [1], [1], 1, 0, 0, []) for index in range(count)}
        image.topics[name] = TopicImage(name, name.encode().ljust(16), partitions)
    return image


def configured(image: MetadataImage, *subtopologies: Subtopology) -> ConfiguredTopology:
    topology = Topology(StreamsGroupTopologyValue(0, list(subtopologies)))
    return configure(topology, counts_of(topology, image))


def repartitions(name: str, source: str) -> list[Subtopology]:
    """One that writes a repartition topic, and one that reads it and has state."""
    return [
        Subtopology(f"{name}0", [source], repartition_sink_topics=[name]),
        Subtopology(
            f"{name}1", repartition_source_topics=[TopicInfo(name)], state_changelog_topics=[TopicInfo(f"{name}-log")]
        ),
    ]


def test_a_repartition_topic_has_the_partitions_of_what_its_writer_reads() -> None:
    found = configured(image_of(t=5), *repartitions("r", "t"))
    assert found.tasks == {"r0": 5, "r1": 5}
    assert found.partitions == {"r": 5, "r-log": 5}
    assert sorted(new.name for new in found.missing) == ["r", "r-log"]
    assert found.fault is not None
    assert found.fault.status is StreamsStatus.MISSING_INTERNAL_TOPICS


def test_it_is_ready_when_all_topics_are_there() -> None:
    image = image_of(t=2, r=2)
    image.topics["r-log"] = image_of(log=2).topics["log"]
    assert configured(image, *repartitions("r", "t")).is_ready


def test_joined_topics_have_equally_many_partitions() -> None:
    joined = Subtopology(
        "j", ["t"], repartition_source_topics=[TopicInfo("r")], copartition_groups=[CopartitionGroup([0], [], [0])]
    )
    writer = Subtopology("w", ["u"], repartition_sink_topics=["r"])
    found = configured(image_of(t=3, u=7), writer, joined)
    assert found.partitions == {"r": 3}


def test_a_long_chain_in_the_worst_order_is_decided_in_linear_time() -> None:
    """A pass over all subtopologies for each one would be a million of steps."""
    links = 1000
    chain = [
        Subtopology(str(n), repartition_source_topics=[TopicInfo(f"r{n}")], repartition_sink_topics=[f"r{n + 1}"])
        for n in reversed(range(links))
    ]
    lines = 0

    def count(frame, event, arg):
        nonlocal lines
        lines += event == "line"
        return count

    sys.settrace(count)
    try:
        found = configured(image_of(t=4), *chain, Subtopology("first", ["t"], repartition_sink_topics=["r0"]))
    finally:
        sys.settrace(None)
    assert found.tasks is not None
    assert found.tasks["0"] == found.tasks[str(links - 1)] == 4
    assert lines < 300 * links


@pytest.mark.parametrize(
    ("subtopology", "code"),
    [
        (Subtopology("0"), ErrorCode.STREAMS_INVALID_TOPOLOGY),
        (
            Subtopology("0", repartition_source_topics=[TopicInfo("r")], repartition_sink_topics=["r"]),
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
        ),
        (Subtopology("0", ["t"], repartition_source_topics=[TopicInfo("r")]), ErrorCode.STREAMS_INVALID_TOPOLOGY),
        (Subtopology("0", ["t"], copartition_groups=[CopartitionGroup([1])]), ErrorCode.UNKNOWN_SERVER_ERROR),
        (Subtopology("0", ["t"], copartition_groups=[CopartitionGroup([-1])]), ErrorCode.UNKNOWN_SERVER_ERROR),
        (Subtopology("0", ["t"], repartition_source_topics=[TopicInfo("r", -1)]), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
    ids=["no sources", "loop", "never written", "place beyond", "place below", "negative count"],
)
def test_topologies_refused(subtopology: Subtopology, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        configured(image_of(t=2), subtopology)
    assert refused.value.code is code
