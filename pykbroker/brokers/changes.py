"""Log lines about changes of the metadata: one line per kind of change, whatever its size; of some hundred partitions that change, one for
each part that is published.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from pykbroker.config.layers import setting_of
from pykbroker.metadata.delta import MetadataDelta, PartitionChange
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage, TopicImage

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Names in a line; the rest is counted.
_NAMED: Final = 5
#: Words in the name of an unknown setting that mark its value as a secret.
_SECRET: Final = ("password", "jaas", "secret", "key", "credential", "token")


def tell(image: MetadataImage, delta: MetadataDelta) -> None:
    """Log what a commit changed; a subscriber of the controller."""
    for line in lines(image, delta):
        log.info("%s", line)


def lines(image: MetadataImage, delta: MetadataDelta) -> Iterator[str]:
    """The log lines for a commit."""
    created = [topic for topic in delta.created_topics if topic.id in image.topics_by_id]
    if created:
        yield f"Created {_counted(len(created), 'topic')}: {_some(created, _described)}"
    if delta.deleted_topics:
        names = _some(delta.deleted_topics, lambda topic: topic.name)
        yield f"Deleted {_counted(len(delta.deleted_topics), 'topic')}: {names}"
    new = {topic.id for topic in created}
    yield from _partitions([change for change in delta.partitions if change.topic.id not in new])
    for kind, name in sorted(delta.configs):
        if kind != TOPIC_RESOURCE or (name in image.topics and image.topics[name].id not in new):
            yield f"Settings of {_resource(kind, name)} are now {_settings(image.config(kind, name))}"
    if delta.client_quotas:
        yield "Altered client quotas"
    if delta.acls:
        added = sum(is_there for _, is_there in delta.acls)
        yield f"Access lists: {added} added, {len(delta.acls) - added} removed"
    if delta.delegation_tokens:
        kept = sum(is_there for _, is_there in delta.delegation_tokens)
        yield f"Delegation tokens: {kept} added or renewed, {len(delta.delegation_tokens) - kept} removed"
    for feature in sorted(delta.features):
        yield f"Feature {feature} is at level {image.features.get(feature, 0)} now"


def _partitions(changes: Sequence[PartitionChange]) -> Iterator[str]:
    added = [change for change in changes if change.before is None]
    if added:
        yield f"Added {_counted(len(added), 'partition')}: {_some(added, _partition)}"
    led = [change for change in changes if change.before is not None and change.before.leader != change.after.leader]
    if led:
        moves = _some(led, lambda change: f"{_partition(change)} by {_broker(change.after.leader)}")
        yield f"{_counted(len(led), 'partition')} with a new leader: {moves}"
    in_sync = [change for change in changes if change.before is not None and change.before.isr != change.after.isr]
    if in_sync:
        sets = _some(in_sync, lambda change: f"{_partition(change)} {list(change.after.isr)}")
        yield f"In-sync replicas of {_counted(len(in_sync), 'partition')} changed: {sets}"


def _described(topic: TopicImage) -> str:
    replicas = max((len(partition.replicas) for partition in topic.in_order()), default=0)
    return f"{topic.name} ({_counted(len(topic.partitions), 'partition')}, {_counted(replicas, 'replica')})"


def _partition(change: PartitionChange) -> str:
    return f"{change.topic.name}-{change.after.index}"


def _broker(node_id: int) -> str:
    return "no broker" if node_id < 0 else f"broker {node_id}"


def _resource(kind: int, name: str) -> str:
    if kind == TOPIC_RESOURCE:
        return f"topic {name}"
    if kind == BROKER_RESOURCE:
        return f"broker {name}" if name else "all brokers"
    return f"resource {name}"


def _settings(configs: Mapping[str, str]) -> str:
    """Names and values, without the values of secrets and of unknown settings."""
    return ", ".join(f"{name}={_value_text(name, value)}" for name, value in sorted(configs.items())) or "the defaults"


def _value_text(name: str, value: str) -> str:
    setting = setting_of(name)
    secret = setting.sensitive if setting is not None else any(word in name for word in _SECRET)
    return "(hidden)" if secret else value


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _some(items: Sequence[T], describe: Callable[[T], str]) -> str:
    more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return ", ".join(map(describe, items[:_NAMED])) + more
