"""What is different between two images: for subscribers, where a snapshot came in place of the records between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pykbroker.metadata.delta import MetadataDelta, PartitionChange
from pykbroker.metadata.image import MetadataImage

K = TypeVar("K")


def compared(before: MetadataImage, after: MetadataImage) -> MetadataDelta:
    """The changes from one image to the other, in no particular order."""
    delta = MetadataDelta()
    delta.deleted_topics = [before.topics_by_id[id_] for id_ in before.topics_by_id.keys() - after.topics_by_id.keys()]
    for topic_id, topic in after.topics_by_id.items():
        former = before.topics_by_id.get(topic_id)
        if former is None:
            delta.created_topics.append(topic)
        for index, partition in topic.partitions.items():
            was = None if former is None else former.partitions.get(index)
            if was != partition:
                delta.partitions.append(PartitionChange(topic, was, partition))
    delta.brokers = _differing(before.brokers, after.brokers)
    delta.configs = _differing(before.configs, after.configs)
    delta.features = _differing(before.features, after.features)
    delta.client_quotas = _differing(before.client_quotas, after.client_quotas)
    for acl in _differing(before.acls, after.acls):
        if acl in before.acls:
            delta.acls.append((before.acls[acl], False))
        if acl in after.acls:
            delta.acls.append((after.acls[acl], True))
    delta.scram = before.scram != after.scram
    tokens = _differing(before.delegation_tokens, after.delegation_tokens)
    delta.delegation_tokens = [(token, token in after.delegation_tokens) for token in tokens]
    return delta


def _differing(before: Mapping[K, object], after: Mapping[K, object]) -> set[K]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
