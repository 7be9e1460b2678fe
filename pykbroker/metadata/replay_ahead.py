"""What many records will make of the image, worked out in slices before anything of it is seen; then it is seen at once.

The image is one object, which nobody may see half changed. So new topics are made whole and changed partitions beside the present
ones, and what is left for the turn of the change is to put them in their places. The image must not change meanwhile. Changes of partitions that
are there need not be seen together.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from pykbroker.metadata.delta import MetadataDelta, PartitionChange
from pykbroker.metadata.image import MetadataImage, PartitionImage, TopicImage
from pykbroker.metadata.replay import MetadataRecord, ReplayError, add_topic, changed, new_partition, replay

_TOPIC, _PARTITION, _PARTITION_CHANGE = 2, 3, 5
_OF_PARTITIONS = frozenset({_PARTITION, _PARTITION_CHANGE})
#: Records that stand beside those of partitions in large changes, and do not alter what partitions become: of brokers and settings.
_BESIDE = frozenset({0, 1, 4, 7, 8, 17})
#: Records of brokers, and of changes of partitions that are there.
_APART = frozenset({0, 1, 5, 7, 8, 17})
#: The weight of a record (``runtime/slices.py``).
_WEIGHT = 0.4


@dataclass(slots=True)
class Ahead:
    """The outcome of records: replayed are those that are not of partitions."""

    records: Sequence[MetadataRecord]
    topics: dict[bytes, TopicImage] = field(default_factory=dict)
    #: Of all partitions, in order. Those of new topics are in these already.
    changes: list[PartitionChange] = field(default_factory=list)
    others: list[MetadataRecord] = field(default_factory=list)

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Do in one turn what replaying the records would do. Raises ReplayError."""
        for record in self.others:
            if record.API_KEY == _TOPIC:
                add_topic(image, self.topics[record.topic_id], delta)
            else:
                replay(image, record, delta)
        delta.partitions = self.changes
        for change in self.changes:
            change.topic.partitions[change.after.index] = change.after


def seen_at_once(records: Sequence[MetadataRecord], at_most: int) -> int:
    """How many of the records, from the first on, are seen at once: ``at_most`` of changes of brokers and partitions, each of which may be
    seen without those behind it; else all, since a topic is whole.
    """
    return at_most if all(record.API_KEY in _APART for record in records) else len(records)


def work_out(image: MetadataImage, records: Sequence[MetadataRecord]) -> Generator[float, None, Ahead | None]:
    """The outcome of the records; None if they are of kinds that are to be replayed whole. Raises ReplayError."""
    ahead = Ahead(records)
    latest: dict[tuple[bytes, int], PartitionImage] = {}
    for record in records:
        kind = record.API_KEY
        if kind in _OF_PARTITIONS:
            ahead.changes.append(_change(image, ahead.topics, latest, record))
        elif kind == _TOPIC:
            ahead.topics[record.topic_id] = TopicImage(record.name, record.topic_id)
            ahead.others.append(record)
        elif kind in _BESIDE:
            ahead.others.append(record)
        else:
            return None
        yield _WEIGHT
    for change in ahead.changes:
        if change.topic.id in ahead.topics:
            change.topic.partitions[change.after.index] = change.after
        yield _WEIGHT / 10
    return ahead


def _change(
    image: MetadataImage,
    new: dict[bytes, TopicImage],
    latest: dict[tuple[bytes, int], PartitionImage],
    record: MetadataRecord,
) -> PartitionChange:
    topic = new.get(record.topic_id) or image.topics_by_id.get(record.topic_id)
    if topic is None:
        raise ReplayError(f"a record for partition {record.partition_id} of an unknown topic {record.topic_id.hex()}")
    key = topic.id, record.partition_id
    before = latest.get(key) or topic.partitions.get(record.partition_id)
    if record.API_KEY == _PARTITION:
        after = new_partition(record)
    elif before is None:
        raise ReplayError(f"a change for {topic.name}-{record.partition_id}, which does not exist")
    else:
        after = changed(before, record)
    latest[key] = after
    return PartitionChange(topic, before, after)
