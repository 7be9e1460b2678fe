"""Changes planned one upon the other and committed at once: each is planned on what the ones before it make of the image."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterable

from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import MetadataImage, TopicImage
from pykbroker.metadata.replay import MetadataRecord, replay

#: The weight of a record (``runtime/slices.py``).
_WEIGHT = 0.6


class Draft:
    """See the module. ``offset`` is that of its first record."""

    def __init__(self, image: MetadataImage, offset: int) -> None:
        #: What the image becomes; topics and brokers are its own.
        self.image = copy.copy(image)
        self.image.topics = {each.name: _copied(each) for each in image.topics.values()}
        self.image.topics_by_id = {each.id: each for each in self.image.topics.values()}
        self.image.brokers = dict(image.brokers)
        self.records: list[MetadataRecord] = []
        self._first = offset

    @property
    def offset(self) -> int:
        """The offset of the next record."""
        return self._first + len(self.records)

    def add(self, record: MetadataRecord) -> None:
        """Note a record of a broker, or of a partition's change."""
        replay(self.image, record, MetadataDelta())
        self.records.append(record)

    def add_all(self, changes: Generator[float, None, Iterable[MetadataRecord]]) -> Generator[float, None, None]:
        """Note the records to which these steps lead."""
        yield from self.add_each((yield from changes))

    def add_each(self, records: Iterable[MetadataRecord]) -> Generator[float, None, None]:
        """Note records, in slices."""
        for record in records:
            self.add(record)
            yield _WEIGHT


def _copied(topic: TopicImage) -> TopicImage:
    return TopicImage(topic.name, topic.id, dict(topic.partitions))
